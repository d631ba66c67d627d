"""``logdoctor diagnose``: read one job, write one report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from logdoctor.cli.diagnosing import diagnose as run_diagnose

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        help="Logs of ONE job: files, folders, globs, archives (tar, zip, gz, bz2, xz, zst); - is standard input."
    ),
]
Rules = Annotated[
    list[Path] | None,
    typer.Option("--rules", help="A folder of your own rules, added to ours.", exists=True, file_okay=False),
]
Format = Annotated[
    str | None, typer.Option("--format", "-f", help="text (default), json, markdown, jira, html or sarif.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the report to this file.", dir_okay=False)]
Lang = Annotated[str | None, typer.Option("--lang", help="Language of the report: en or zh (default: by the locale).")]
Hung = Annotated[bool, typer.Option("--hung", help="The job hangs: its silence is the failure.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer, in one line.")]
Why = Annotated[bool, typer.Option("--why", help="Show why: lines, rule, claims, and which rules lost by which law.")]
ExitCode = Annotated[
    bool, typer.Option("--exit-code", help="Exit with 1 for failed, stopped or unknown, with 4 if no end is seen.")
]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model", help="A classifier made by 'logdoctor train', instead of ours.", exists=True, dir_okay=False
    ),
]
Baseline = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        help="The log of a good run: where no rule knows the failure, what it never printed is shown.",
        exists=True,
    ),
]
FollowLinks = Annotated[
    bool, typer.Option("--follow-links", help="Also read what links in a folder name outside of it.")
]
Redact = Annotated[
    bool | None,
    typer.Option(
        "--redact/--no-redact",
        help="Take out secrets, and call hosts, addresses and users host-1, ip-1, user-1 (default: in the formats that "
        "are made to be shared: html, markdown, jira, sarif).",
    ),
]
RedactMap = Annotated[
    Path | None,
    typer.Option(
        "--redact-map", help="Write here who is meant by host-1, ip-1, user-1; keep it to yourself.", dir_okay=False
    ),
]


def diagnose(
    paths: Paths = None,
    format: Format = None,
    output: Output = None,
    lang: Lang = None,
    hung: Hung = False,
    quiet: Quiet = False,
    why: Why = False,
    exit_code: ExitCode = False,
    rules: Rules = None,
    model: Model = None,
    baseline: Baseline = None,
    redact: Redact = None,
    redact_map: RedactMap = None,
    follow_links: FollowLinks = False,
) -> None:
    """Say what went wrong first, where, with which proof, and what to do.

    Without PATHS the log is read from standard input.

    Exit codes: 0 an answer was given, 1 with --exit-code: failed, stopped or unknown, 2 wrong usage,
    3 an input is missing, empty or unreadable, or the output could not be written, 4 with --exit-code: no end seen
    or nothing to judge, 70 an error of logdoctor itself.
    """
    run_diagnose(
        paths,
        format=format,
        output=output,
        lang=lang,
        hung=hung,
        quiet=quiet,
        why=why,
        exit_code=exit_code,
        rules=rules,
        model=model,
        baseline=baseline,
        redact=redact,
        redact_map=redact_map,
        follow_links=follow_links,
    )

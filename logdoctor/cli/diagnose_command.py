"""``logdoctor diagnose``: read one job, write one report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from logdoctor.cli.choices import LANGUAGES, among, format_names, one_of
from logdoctor.cli.diagnosing import diagnose as run_diagnose
from logdoctor.cli.diagnosing import format_of
from logdoctor.cli.output import COLORS, language_of
from logdoctor.cli.rule_folders import add_rules_of_settings
from logdoctor.cli.words import require

FORMATS = format_names("render", "formats")


def _check_lang(lang: str | None) -> str | None:
    return language_of(lang) if lang else None


def _check_format(format: str | None) -> str | None:
    return format_of(format) if format else None


def _check_color(color: str | None) -> str | None:
    require(color or "auto", COLORS, "--color")
    return color


Paths = Annotated[
    list[str] | None,
    typer.Argument(
        help="Logs of ONE job: files, folders, globs, archives (tar, zip, gz, bz2, xz, zst); - is standard input."
    ),
]
Rules = Annotated[
    list[Path] | None,
    typer.Option(
        "--rules",
        help="A folder of your own rules, added to ours.",
        exists=True,
        file_okay=False,
        callback=add_rules_of_settings,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        help=f"{one_of(FORMATS, 'text')}.",
        callback=_check_format,
        autocompletion=among(FORMATS),
    ),
]
Json = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the report to this file.", dir_okay=False)]
Lang = Annotated[
    str | None,
    typer.Option(
        "--lang",
        help=f"Language of the report: {one_of(LANGUAGES)} (default: by the locale).",
        envvar="LOGDOCTOR_LANG",
        autocompletion=among(LANGUAGES),
        callback=_check_lang,
    ),
]
Hung = Annotated[bool, typer.Option("--hung", help="The job hangs: its silence is the failure.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer, in one line.")]
Full = Annotated[bool, typer.Option("--all", help="Show all victims, ranks, proofs and links.")]
Why = Annotated[bool, typer.Option("--why", help="Show why: lines, rule, claims, and which rules lost by which law.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Say on standard error which files and rules were read, and how long.")
]
Color = Annotated[
    str | None,
    typer.Option(
        "--color",
        help="auto (default), always or never. auto heeds NO_COLOR, FORCE_COLOR and TERM=dumb.",
        callback=_check_color,
        autocompletion=among(COLORS),
    ),
]
Width = Annotated[
    int | None,
    typer.Option("--width", min=20, help="Columns of the text (default: $COLUMNS or the terminal; a pipe: 80)."),
]
Ascii = Annotated[bool, typer.Option("--ascii", help="Signs in ASCII.")]
ExitCode = Annotated[
    bool, typer.Option("--exit-code", help="Exit with 1 for failed, stopped or unknown, with 4 if no end is seen.")
]
ExitDecision = Annotated[
    bool,
    typer.Option(
        "--exit-decision",
        help="Exit with 10 do-nothing, 11 requeue, 12 requeue-without-host, 13 resubmit-with-changes, 14 fix-first, "
        "15 investigate.",
    ),
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
JobId = Annotated[str | None, typer.Option("--job-id", help="The id that the scheduler gave the job.")]
FollowLinks = Annotated[
    bool, typer.Option("--follow-links", help="Also read what links in a folder name outside of it.")
]
Redact = Annotated[
    bool | None,
    typer.Option(
        "--redact/--no-redact",
        help="Take out secrets, and call hosts, addresses and users <host-a>, <ip-a>, <user-a> (default: in the "
        "formats that are made to be shared: html, markdown, jira, sarif).",
    ),
]
RedactMap = Annotated[
    Path | None,
    typer.Option(
        "--redact-map",
        help="Write here who is meant by <host-a>, <ip-a>, <user-a>; keep it to yourself.",
        dir_okay=False,
    ),
]


def diagnose(
    paths: Paths = None,
    format: Format = None,
    json: Json = False,
    output: Output = None,
    lang: Lang = None,
    hung: Hung = False,
    quiet: Quiet = False,
    full: Full = False,
    why: Why = False,
    verbose: Verbose = False,
    color: Color = None,
    width: Width = None,
    ascii: Ascii = False,
    exit_code: ExitCode = False,
    exit_decision: ExitDecision = False,
    rules: Rules = None,
    model: Model = None,
    baseline: Baseline = None,
    job_id: JobId = None,
    redact: Redact = None,
    redact_map: RedactMap = None,
    follow_links: FollowLinks = False,
) -> None:
    """Say what went wrong first, where, with which proof, and what to do.

    Without PATHS the log is read from standard input.

    Exit codes: 0 an answer was given, 1 with --exit-code: failed, stopped or unknown, 2 wrong usage,
    3 an input is missing, empty or unreadable, or the output could not be written, 4 with --exit-code: no end seen
    or nothing to judge, 10 to 15 with --exit-decision, 70 an error of logdoctor itself.
    """
    options: dict[str, Any] = locals()
    run_diagnose(options.pop("paths"), **options)

"""``logdoctor report``: write a page to attach to a ticket."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from logdoctor.cli.diagnose_command import Baseline, ExitCode, Hung, Lang, Model, Paths, Redact, RedactMap, Rules
from logdoctor.cli.diagnosing import (
    diagnose_paths,
    language_of,
    raise_exit_code,
    redact_to_share,
    refuse_overwriting,
    write,
)
from logdoctor.cli.rule_folders import read_settings

Output = Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.", dir_okay=False)]


def report(
    paths: Paths = None,
    output: Output = Path("report.html"),
    lang: Lang = None,
    hung: Hung = False,
    exit_code: ExitCode = False,
    rules: Rules = None,
    model: Model = None,
    baseline: Baseline = None,
    redact: Redact = None,
    redact_map: RedactMap = None,
) -> None:
    """Write an HTML page that a ticket can carry: the answer, what to do, ranks over time, evidence.

    The page is that of 'logdoctor diagnose --format html'; the answer is printed in one line too.

    Exit codes: those of 'logdoctor diagnose'.
    """
    refuse_overwriting(output, paths)
    settings = read_settings()
    language = language_of(lang, settings.lang)
    own = [*settings.rules, *(rules or [])]
    diagnosis = diagnose_paths(paths, "html", rules=own, hung=hung, lang=language, model=model, baseline=baseline)
    write(redact_to_share(diagnosis, "html", redact, redact_map), "html", output, language)
    write(diagnosis, "text", None, language, quiet=True)
    typer.echo(str(output), err=True)
    raise_exit_code(diagnosis, paths, by_verdict=exit_code)

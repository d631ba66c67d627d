"""``logdoctor report``: a page to attach to a ticket, and the answer in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from logdoctor.cli.diagnose_command import (
    Baseline,
    ExitCode,
    Hung,
    Lang,
    Model,
    Paths,
    Redact,
    RedactMap,
    diagnosed,
    fit_to_show,
    keep_inputs,
    language_of,
    write,
)
from logdoctor.cli.rule_options import Rules, chosen_settings

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
    keep_inputs(output, paths)
    chosen = chosen_settings()
    language = language_of(lang, chosen.lang)
    own = [*chosen.rules, *(rules or [])]
    found = diagnosed(paths, "html", rules=own, hung=hung, lang=language, model=model, baseline=baseline)
    write(fit_to_show(found, "html", redact, redact_map), "html", output, language)
    write(found, "terminal", None, language, quiet=True)
    typer.echo(str(output), err=True)
    if exit_code and found.verdict != "healthy":
        raise typer.Exit(1)

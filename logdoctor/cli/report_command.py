"""``logdoctor report``: write a page to attach to a ticket."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from logdoctor.cli.diagnose_command import (
    Baseline,
    ExitCode,
    ExitDecision,
    Hung,
    JobId,
    Lang,
    Model,
    Paths,
    Redact,
    RedactMap,
    Rules,
)
from logdoctor.cli.diagnosing import TEXT, diagnose_paths, raise_exit_code
from logdoctor.cli.named_inputs import refuse_output_file
from logdoctor.cli.output import Style, language_of, redact_to_share, write

Output = Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.", dir_okay=False)]


def report(
    paths: Paths = None,
    output: Output = Path("report.html"),
    lang: Lang = None,
    hung: Hung = False,
    exit_code: ExitCode = False,
    exit_decision: ExitDecision = False,
    rules: Rules = None,
    model: Model = None,
    baseline: Baseline = None,
    job_id: JobId = None,
    redact: Redact = None,
    redact_map: RedactMap = None,
) -> None:
    """Write an HTML page that a ticket can carry: the answer, what to do, ranks over time, evidence.

    The page is that of 'logdoctor diagnose --format html'; the answer is printed in one line too.

    Exit codes: those of 'logdoctor diagnose'.
    """
    refuse_output_file(output, paths)
    language = language_of(lang)
    options = {"hung": hung, "lang": language, "model": model, "baseline": baseline, "job_id": job_id}
    diagnosis = diagnose_paths(paths, "html", rules=rules or (), **options)
    write(redact_to_share(diagnosis, "html", redact, redact_map), Style("html", language), output)
    write(diagnosis, Style(TEXT, language, quiet=True), None)
    typer.echo(f"logdoctor: wrote {output}; open it with a browser", err=True)
    if redact is not False:
        hint = "" if redact_map else "--redact-map FILE keeps the key; "
        typer.echo(f"logdoctor: names are replaced in {output}; {hint}--no-redact keeps the names", err=True)
    raise_exit_code(diagnosis, by_verdict=exit_code, by_decision=exit_decision)

"""``logdoctor events``: print the parsed records of a log."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from logdoctor.cli.choices import among_keys
from logdoctor.cli.diagnose_command import Paths, Rules
from logdoctor.cli.errors import print_error, refuse_output, report_errors
from logdoctor.cli.named_inputs import paths_or_stdin, refuse_output_file
from logdoctor.cli.progress_bar import load_with_progress
from logdoctor.cli.rule_folders import all_folders
from logdoctor.cli.words import require

Format = Annotated[
    str,
    typer.Option(
        "--format",
        "-f",
        help="jsonl, csv or parquet.",
        autocompletion=among_keys("logdoctor.render.record_tables", "WRITERS"),
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write them to this file.", dir_okay=False)]


def events(paths: Paths = None, format: Format = "jsonl", output: Output = None, rules: Rules = None) -> None:
    """Print the recognised records of a job: format, kind, level, who, fields, text, file and line.

    Without PATHS the log is read from standard input.

    Exit codes: 0 the log was read, 2 wrong usage, 3 nothing could be read or the output not be
    written, 70 an error of logdoctor itself.
    """
    from logdoctor.model import InputError, LogdoctorError
    from logdoctor.pipeline.diagnosis import events as events_of
    from logdoctor.render.record_tables import WRITERS

    require(format, WRITERS, "--format")
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise typer.BadParameter("Parquet is no text: name a file with -o", param_hint="--format")
    refuse_output_file(output, paths)
    inputs = paths_or_stdin(paths)
    knowledge = load_with_progress(all_folders(rules))
    with report_errors(), _open(output) as out:
        try:
            WRITERS[format](events_of(inputs, knowledge=knowledge), out)
        except InputError:
            raise
        except LogdoctorError as error:
            print_error(error)
            raise typer.Exit(2) from None
        out.flush()


def _open(output: Path | None) -> Any:
    stdout: IO[bytes] = sys.stdout.buffer
    if output is None:
        return nullcontext(stdout)
    try:
        return output.open("wb")
    except OSError as error:
        refuse_output(output, error)

"""``logdoctor history``: count and query the results of scans."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from logdoctor.cli.choices import among, among_keys, complete_cause, one_of
from logdoctor.cli.errors import report_errors
from logdoctor.cli.time_options import read_time
from logdoctor.cli.words import require

if TYPE_CHECKING:
    from logdoctor.archive.history import QueryResult

Folders = Annotated[list[Path], typer.Argument(help="Folders that 'logdoctor scan --out' wrote.", exists=True)]
By = Annotated[
    str,
    typer.Option(
        "--by",
        help="Count by cause, host, user, day, week, month, failure or job.",
        autocompletion=among_keys("logdoctor.archive.history", "GROUP_BY"),
    ),
]
Cause = Annotated[str, typer.Option("--cause", help="Only this signature or family.", autocompletion=complete_cause)]
Host = Annotated[str, typer.Option("--host", help="Only where this host was culprit.")]
User = Annotated[str, typer.Option("--user", help="Only jobs of this user (the owner of the files).")]
Since = Annotated[str | None, typer.Option("--since", help="Only failures then or later: 2026-11-01, 7d, 12h.")]
Until = Annotated[str | None, typer.Option("--until", help="Only failures before then.")]
Most = Annotated[int, typer.Option("--most", min=1, help="So many rows.")]
Sql = Annotated[
    str | None, typer.Option("--sql", help="A question of your own; the tables are jobs, causes and rank_table.")
]
FORMATS = ("table", "csv", "jsonl")
Format = Annotated[str, typer.Option("--format", "-f", help=f"{one_of(FORMATS)}.", autocompletion=among(FORMATS))]


def history(
    folders: Folders,
    by: By = "cause",
    cause: Cause = "",
    host: Host = "",
    user: User = "",
    since: Since = None,
    until: Until = None,
    most: Most = 50,
    sql: Sql = None,
    format: Format = "table",
) -> None:
    """Count the failures that scans found, by cause, host, user or time; or ask in SQL.

    Exit codes: 0 there is an answer, 2 wrong usage, 3 there are no results, or SQL that is not understood.
    """
    from logdoctor.archive.history import GROUP_BY, FailureQuery, count_failures, run_sql

    require(by, GROUP_BY, "--by")
    require(format, FORMATS, "--format")
    question = FailureQuery(by, cause, host, user, read_time(since, "--since"), read_time(until, "--until"), most)
    with report_errors():
        answer = run_sql(folders, sql) if sql is not None else count_failures(folders, question)
    {"table": _table, "csv": _csv, "jsonl": _jsonl}[format](answer)


def _cell(value: Any) -> str:
    from logdoctor.model.escape import escape

    if isinstance(value, list):
        return " ".join(_cell(part) for part in value)
    return "" if value is None else escape(str(value))


def _table(answer: QueryResult) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in answer.columns:
        table.add_column(Text(_cell(name)), overflow="fold")
    for row in answer.rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    Console(width=None if sys.stdout.isatty() else 160, highlight=False).print(table)


def _csv(answer: QueryResult) -> None:
    import csv

    from logdoctor.model.escape import spreadsheet_cell

    lines = csv.writer(sys.stdout, lineterminator="\n")
    lines.writerow(answer.columns)
    lines.writerows([spreadsheet_cell(_cell(value)) for value in row] for row in answer.rows)


def _jsonl(answer: QueryResult) -> None:
    import json

    for row in answer.rows:
        typer.echo(json.dumps(dict(zip(answer.columns, row, strict=True)), ensure_ascii=True, default=str))

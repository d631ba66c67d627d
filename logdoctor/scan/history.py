"""Questions to the results of scans: SQL over their Parquet tables, by DuckDB, with the usual ones ready."""

# The only texts put into SQL are the constants of this file; what a user says goes in as values.
# ruff: noqa: S608

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from msgspec import Struct

from logdoctor.model import InputError
from logdoctor.scan.checkpoint_log import Journal, last_landed
from logdoctor.scan.tables import TABLES, write_parquet

_WHEN = "make_timestamp(CAST(coalesce(CASE WHEN ended > 0 THEN ended END, changed) * 1000000 AS BIGINT))"
_FAILED = "status = 'diagnosed' AND verdict <> 'healthy'"

BY = {
    "cause": "signature",
    "host": "host",
    "user": '"user"',
    "day": "strftime(day, '%Y-%m-%d')",
    "week": "strftime(date_trunc('week', day), '%Y-%m-%d')",
    "month": "strftime(day, '%Y-%m')",
    "failure": "fingerprint",
    "job": "job",
}
"""What failures may be counted by; a week is named by its Monday."""


class Question(Struct, frozen=True):
    """Failures counted ``by`` one of `BY`; only those of a cause (signature or family), host, user, time."""

    by: str = "cause"
    cause: str = ""
    host: str = ""
    user: str = ""
    since: float | None = None
    until: float | None = None
    most: int = 50


class Answer(Struct, frozen=True):
    """Names of columns, and rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def ask(folders: Sequence[Path], question: Question) -> Answer:
    """Count the failures in the results in ``folders``.  Raises `InputError`."""
    conditions, values = [_FAILED], list[Any]()
    for condition, value in (
        ("(signature = ? OR split_part(signature, '.', 1) = ?)", question.cause),
        ("host = ?", question.host),
        ('"user" = ?', question.user),
        ("day >= ?", _timestamp(question.since)),
        ("day < ?", _timestamp(question.until)),
    ):
        if value:
            conditions.append(condition)
            values += [value] * condition.count("?")
    of_hosts = question.by == "host" or question.host
    source = "(SELECT *, unnest(hosts) AS host FROM failures)" if of_hosts else "failures"
    text = (
        f'SELECT {BY[question.by]} AS "{question.by}", count(DISTINCT job) AS jobs, '
        "mode(signature) AS \"most often\", strftime(min(day), '%Y-%m-%d') AS first, "
        "strftime(max(day), '%Y-%m-%d') AS last, min(job) AS \"for example\" "
        f"FROM {source} WHERE {' AND '.join(conditions)} GROUP BY 1 ORDER BY "
        f"{'1' if question.by in ('day', 'week', 'month') else '2 DESC, 1'} LIMIT {int(question.most)}"
    )
    return _run(folders, text, values)


def query(folders: Sequence[Path], sql: str) -> Answer:
    """Answer a question in SQL about the tables ``jobs``, ``causes``, ``rank_table``.  Raises `InputError`."""
    return _run(folders, sql, [])


def _run(folders: Sequence[Path], text: str, values: Sequence[Any]) -> Answer:
    try:
        import duckdb
    except ImportError:
        raise InputError(
            "the history cannot be asked", "", "duckdb is not installed", "pip install 'logdoctor[scan]'"
        ) from None
    with tempfile.TemporaryDirectory(prefix="logdoctor-history-") as spare, duckdb.connect(":memory:") as database:
        places = [_tables(folder, Path(spare, str(number))) for number, folder in enumerate(folders)]
        try:
            for table in TABLES:
                files = [str(place / f"{table}.parquet") for place in places]
                read = "SELECT * FROM read_parquet(?, union_by_name = true)"
                database.execute(f"CREATE TABLE {table} AS {read}", [files])
        except duckdb.Error as error:
            why, cure = str(error).splitlines()[0], "remove its files *.parquet: they are made anew"
            raise InputError("the tables cannot be read", " ".join(map(str, folders)), why, cure) from None
        database.execute(f"CREATE VIEW failures AS SELECT *, {_WHEN} AS day FROM jobs")
        database.execute("SET enable_external_access = false")
        try:
            result = database.execute(text, list(values))
            columns = tuple(str(column[0]) for column in result.description or ())
            return Answer(columns, tuple(tuple(row) for row in result.fetchall()))
        except duckdb.Error as error:
            raise InputError("the question was not understood", "--sql", str(error).splitlines()[0]) from None


def _tables(folder: Path, spare: Path) -> Path:
    """Where the tables of the scan in ``folder`` are: there, made anew where results came in since; else in ``spare``.

    Somebody who may not write into the folder of another's scan may ask it all the same.
    """
    landed = last_landed(folder)
    if landed is None:
        why = "there are no results of a scan"
        raise InputError("the history cannot be asked", str(folder), why, "logdoctor scan ARCHIVE --out FOLDER")
    files = [folder / f"{table}.parquet" for table in TABLES]
    if all(file.is_file() and file.stat().st_mtime_ns >= landed for file in files):
        return folder
    try:
        write_parquet(Journal(folder).records(), folder)
    except OSError:
        write_parquet(Journal(folder).records(), spare)
        return spare
    return folder


def _timestamp(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc).replace(tzinfo=None)

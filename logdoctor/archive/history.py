"""Count failures in the results of scans, with DuckDB."""

# Only constants of this file are put into SQL text.  Input of the user is passed as values.
# ruff: noqa: S608

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from msgspec import Struct

from logdoctor.archive.checkpoint_log import CheckpointLog, last_write_time
from logdoctor.archive.decision_counts import tell_decisions
from logdoctor.archive.tables import TABLES, write_parquet
from logdoctor.model import InputError
from logdoctor.model.extras import needs_extra

_END_TIME = "make_timestamp(CAST(coalesce(CASE WHEN ended > 0 THEN ended END, changed) * 1000000 AS BIGINT))"
_FAILED = "status = 'diagnosed' AND verdict IN ('failed', 'stopped', 'unknown')"

GROUP_BY = {
    "cause": "signature",
    "host": "host",
    "user": '"user"',
    "day": "strftime(day, '%Y-%m-%d')",
    "week": "strftime(date_trunc('week', day), '%Y-%m-%d')",
    "month": "strftime(day, '%Y-%m')",
    "failure": "fingerprint",
    "job": "job",
}
"""SQL expressions by which failures are grouped.  A week is named after its Monday."""


class FailureQuery(Struct, frozen=True):
    """A count of failures, grouped ``by`` a key of `GROUP_BY`, with filters.

    ``cause`` is a signature or a family.  ``limit`` is the largest number of rows.
    """

    by: str = "cause"
    cause: str = ""
    host: str = ""
    user: str = ""
    since: float | None = None
    until: float | None = None
    limit: int = 50


class QueryResult(Struct, frozen=True):
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def count_failures(folders: Sequence[Path], query: FailureQuery) -> QueryResult:
    """Count the failures in the scan results in ``folders``.  Raises `InputError`."""
    conditions, values = [_FAILED], list[Any]()
    for condition, value in (
        ("(signature = ? OR split_part(signature, '.', 1) = ?)", query.cause),
        ("host = ?", query.host),
        ('"user" = ?', query.user),
        ("day >= ?", _timestamp(query.since)),
        ("day < ?", _timestamp(query.until)),
    ):
        if value:
            conditions.append(condition)
            values += [value] * condition.count("?")
    per_host = query.by == "host" or query.host
    source = "(SELECT *, unnest(hosts) AS host FROM failures)" if per_host else "failures"
    sql = (
        f'SELECT {GROUP_BY[query.by]} AS "{query.by}", count(DISTINCT job) AS jobs, '
        "mode(signature) AS \"most often\", histogram(decision) AS decision, strftime(min(day), '%Y-%m-%d') AS first, "
        "strftime(max(day), '%Y-%m-%d') AS last, min(job) AS \"for example\" "
        f"FROM {source} WHERE {' AND '.join(conditions)} GROUP BY 1 ORDER BY "
        f"{'1' if query.by in ('day', 'week', 'month') else '2 DESC, 1'} LIMIT {int(query.limit)}"
    )
    found = _run(folders, sql, values)
    at = found.columns.index("decision")
    rows = ((*row[:at], tell_decisions(row[at]), *row[at + 1 :]) for row in found.rows)
    return QueryResult(found.columns, tuple(rows))


def run_sql(folders: Sequence[Path], sql: str) -> QueryResult:
    """Run SQL over the tables ``jobs``, ``causes`` and ``rank_table``.  Raises `InputError`."""
    return _run(folders, sql, [])


def _run(folders: Sequence[Path], sql: str, values: Sequence[Any]) -> QueryResult:
    with needs_extra("scan", "the history cannot be asked"):
        import duckdb
    with tempfile.TemporaryDirectory(prefix="logdoctor-history-") as temporary, duckdb.connect(":memory:") as database:
        table_folders = [_update_tables(folder, Path(temporary, str(n))) for n, folder in enumerate(folders)]
        try:
            for table in TABLES:
                files = [str(folder / f"{table}.parquet") for folder in table_folders]
                read = "SELECT * FROM read_parquet(?, union_by_name = true)"
                database.execute(f"CREATE TABLE {table} AS {read}", [files])
        except duckdb.Error as error:
            why, cure = str(error).splitlines()[0], "remove its files *.parquet: they are made anew"
            raise InputError("the tables cannot be read", " ".join(map(str, folders)), why, cure) from None
        database.execute(f"CREATE VIEW failures AS SELECT *, {_END_TIME} AS day FROM jobs")
        database.execute("SET enable_external_access = false")
        try:
            result = database.execute(sql, list(values))
            columns = tuple(str(column[0]) for column in result.description or ())
            return QueryResult(columns, tuple(tuple(row) for row in result.fetchall()))
        except duckdb.Error as error:
            raise InputError("the question was not understood", "--sql", str(error).splitlines()[0]) from None


def _update_tables(folder: Path, temporary: Path) -> Path:
    """Return the folder of the up-to-date tables of a scan.

    Tables that are older than the last record are written again.  The tables are written into ``temporary`` if
    ``folder`` is not writable, for example in a scan of another user.
    """
    last_write = last_write_time(folder)
    if last_write is None:
        why = "there are no results of a scan"
        raise InputError("the history cannot be asked", str(folder), why, "logdoctor scan ARCHIVE --out FOLDER")
    files = [folder / f"{table}.parquet" for table in TABLES]
    if all(file.is_file() and file.stat().st_mtime_ns >= last_write for file in files):
        return folder
    try:
        write_parquet(CheckpointLog(folder).records(), folder)
    except OSError:
        write_parquet(CheckpointLog(folder).records(), temporary)
        return temporary
    return folder


def _timestamp(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc).replace(tzinfo=None)

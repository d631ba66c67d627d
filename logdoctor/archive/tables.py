"""Write the records of a scan as Parquet tables.

Read them with ``pandas.read_parquet("scan/jobs.parquet")``.  The columns are documented in docs/scan.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, fields

from logdoctor.archive.record import SCHEMA, CauseRow, JobRecord, RankEntry, Status
from logdoctor.model.extras import needs_extra

TABLES = ("jobs", "causes", "rank_table")
"""Names of the tables and their files.  The rows of the last two begin with the name of the job."""
RECORDS_PER_BATCH = 5000

_NESTED = ("causes", "rank_table", "problems")
_ROW_TYPES: dict[str, type[Struct]] = {"jobs": JobRecord, "causes": CauseRow, "rank_table": RankEntry}


def job_row(record: JobRecord) -> dict[str, Any]:
    """Return the flat fields of a job, and its problems as text."""
    row = {name: value for name, value in asdict(record).items() if name not in _NESTED}
    row["problems"] = "; ".join(": ".join(filter(None, (p.what, p.where, p.why))) for p in record.problems)
    return row


def table_rows(record: JobRecord, table: str) -> list[dict[str, Any]]:
    if table == "jobs":
        return [job_row(record)]
    return [{"job": record.job, **asdict(part)} for part in getattr(record, table)]


def write_parquet(records: Iterable[JobRecord], folder: Path) -> list[Path]:
    """Write all tables into ``folder`` and return the files.

    Each file is replaced atomically.  Raises `InputError` if pyarrow is not installed.
    """
    with needs_extra("scan", "Parquet cannot be written", str(folder)):
        import pyarrow as pa
        import pyarrow.parquet as pq
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.parquet" for name in TABLES}
    temporary = {name: folder / f".{name}.parquet.{os.getpid()}" for name in TABLES}
    schemas = {name: _schema(pa, name) for name in TABLES}
    writers = {name: pq.ParquetWriter(temporary[name], schemas[name]) for name in TABLES}
    for batch in _batches(records):
        for name, writer in writers.items():
            rows = [row for record in batch for row in table_rows(record, name)]
            writer.write_table(pa.Table.from_pylist(rows, schema=schemas[name]))
    for name, writer in writers.items():
        writer.close()
        temporary[name].replace(paths[name])
    return list(paths.values())


def _batches(records: Iterable[JobRecord]) -> Iterator[list[JobRecord]]:
    iterator = iter(records)
    while batch := list(islice(iterator, RECORDS_PER_BATCH)):
        yield batch


def _schema(pa: Any, table: str) -> Any:
    types = {
        str: pa.string(),
        int: pa.int64(),
        float: pa.float64(),
        float | None: pa.float64(),
        tuple[int, ...]: pa.list_(pa.int64()),
        tuple[str, ...]: pa.list_(pa.string()),
        Status: pa.string(),
    }
    columns = [] if table == "jobs" else [("job", pa.string())]
    columns += [(f.name, types[f.type]) for f in fields(_ROW_TYPES[table]) if f.name not in _NESTED]
    columns += [("problems", pa.string())] if table == "jobs" else []
    return pa.schema(columns, metadata={"schema": SCHEMA})

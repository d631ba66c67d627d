"""Events as tables: JSON lines, CSV, Parquet. Each format is a function of records and an open binary file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import IO, Any

from logdoctor.model import Record
from logdoctor.model.escape import escape, spreadsheet_cell
from logdoctor.model.extras import needs_extra

COLUMNS = (
    *("file", "line", "kind", "level", "rank", "host", "pid", "time", "local_rank", "source", "tag"),
    *("field", "fields", "text"),
)
BATCH = 10_000
"""Number of rows in memory."""


def event_to_dict(record: Record) -> dict[str, Any]:
    """Return ``record`` as JSON-ready data without unknown values."""
    place = {"file": record.line.file, "line": record.line.number, "kind": record.kind, "level": record.level}
    source = {k: getattr(record, k) for k in ("rank", "host", "pid", "time")}
    source |= {"local_rank": record.source.local_rank, "source": record.source.logger, "tag": record.source.tag}
    source |= {"field": record.line.field or None}
    known = {k: v for k, v in source.items() if v is not None}
    return {**place, **known, "fields": dict(record.fields), "text": record.text}


def write_jsonl(records: Iterable[Record], out: IO[bytes]) -> None:
    """Write one JSON object per line, in ASCII."""
    for record in records:
        out.write(json.dumps(event_to_dict(record), ensure_ascii=True).encode() + b"\n")


def write_csv(records: Iterable[Record], out: IO[bytes]) -> None:
    """Write one row per record, with the fields as JSON. No cell is a formula for a spreadsheet."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in _rows(records):
        writer.writerow([spreadsheet_cell(value) for value in row])
    text.flush()
    text.detach()


def write_parquet(records: Iterable[Record], out: IO[bytes]) -> None:
    """Write one row per record, with the fields as JSON. Raises `InputError` if pyarrow is missing."""
    with needs_extra("scan", "Parquet cannot be written"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    types = {**dict.fromkeys(("line", "rank", "pid", "local_rank"), pa.int64()), "time": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    rows = _rows(records)
    with pq.ParquetWriter(out, schema) as writer:
        while batch := [*islice(rows, BATCH)]:
            writer.write_table(pa.table([*map(list, zip(*batch, strict=True))], schema=schema))


def _rows(records: Iterable[Record]) -> Iterator[tuple[Any, ...]]:
    for record in records:
        row = event_to_dict(record)
        row["fields"] = json.dumps(row["fields"], ensure_ascii=True)
        row["text"] = escape(row["text"])
        yield tuple(row.get(name) for name in COLUMNS)


WRITERS: Mapping[str, Callable[[Iterable[Record], IO[bytes]], None]] = MappingProxyType(
    {"jsonl": write_jsonl, "csv": write_csv, "parquet": write_parquet}
)
"""Writers by the name of their format."""

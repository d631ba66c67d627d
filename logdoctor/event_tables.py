"""Events as tables: JSON lines, CSV, Parquet.

Each format is a function of events and an open binary file.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import IO, Any

from logdoctor.model import Event, LogdoctorError
from logdoctor.model.escape import escape, spreadsheet_cell

COLUMNS = (
    *("file", "line", "kind", "level", "rank", "host", "pid", "time", "local_rank", "source", "tag"),
    *("fields", "text"),
)
BATCH = 10_000
"""Number of rows in memory."""


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return ``event`` as JSON-ready data without unknown values."""
    place = {"file": event.line.file, "line": event.line.number, "kind": event.kind, "level": event.level}
    source = {k: getattr(event, k) for k in ("rank", "host", "pid", "time")}
    source |= {k: getattr(event.speaker, k) for k in ("local_rank", "source", "tag")}
    known = {k: v for k, v in source.items() if v is not None}
    return {**place, **known, "fields": dict(event.fields), "text": event.text}


def write_jsonl(events: Iterable[Event], out: IO[bytes]) -> None:
    """Write one JSON object per line, in ASCII."""
    for event in events:
        out.write(json.dumps(event_to_dict(event), ensure_ascii=True).encode() + b"\n")


def write_csv(events: Iterable[Event], out: IO[bytes]) -> None:
    """Write one row per event, with the fields as JSON.

    No cell is a formula for a spreadsheet.
    """
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in _rows(events):
        writer.writerow([spreadsheet_cell(value) for value in row])
    text.flush()
    text.detach()


def write_parquet(events: Iterable[Event], out: IO[bytes]) -> None:
    """Write one row per event, with the fields as JSON.

    Raises `LogdoctorError` if pyarrow is missing.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise LogdoctorError("Parquet needs pyarrow", help="pip install 'logdoctor[scan]'") from None
    types = {**dict.fromkeys(("line", "rank", "pid", "local_rank"), pa.int64()), "time": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    rows = _rows(events)
    with pq.ParquetWriter(out, schema) as writer:
        while batch := [*islice(rows, BATCH)]:
            writer.write_table(pa.table([*map(list, zip(*batch, strict=True))], schema=schema))


def _rows(events: Iterable[Event]) -> Iterator[tuple[Any, ...]]:
    for event in events:
        row = event_to_dict(event)
        row["fields"] = json.dumps(row["fields"], ensure_ascii=True)
        row["text"] = escape(row["text"])
        yield tuple(row.get(name) for name in COLUMNS)


WRITERS: Mapping[str, Callable[[Iterable[Event], IO[bytes]], None]] = MappingProxyType(
    {"jsonl": write_jsonl, "csv": write_csv, "parquet": write_parquet}
)
"""Writers by the name of their format."""

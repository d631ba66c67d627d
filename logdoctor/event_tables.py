"""Recognised records as tables: JSON lines, CSV, Parquet.  One format is one function of events and an open file."""

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
"""Rows that are held at once."""


def plain(event: Event) -> dict[str, Any]:
    """``event`` as plain data; what is not known is left out."""
    found: dict[str, Any] = {
        "file": event.line.file,
        "line": event.line.number,
        "kind": event.kind,
        "level": event.level,
    }
    who = {k: getattr(event, k) for k in ("rank", "host", "pid", "time")}
    who |= {k: getattr(event.speaker, k) for k in ("local_rank", "source", "tag")}
    found |= {k: v for k, v in who.items() if v is not None}
    return {**found, "fields": dict(event.fields), "text": event.text}


def write_jsonl(events: Iterable[Event], out: IO[bytes]) -> None:
    """One JSON object a line, in ASCII."""
    for event in events:
        out.write(json.dumps(plain(event), ensure_ascii=True).encode() + b"\n")


def write_csv(events: Iterable[Event], out: IO[bytes]) -> None:
    """One row an event, fields as JSON; no cell is a formula for a spreadsheet."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in _rows(events):
        writer.writerow([spreadsheet_cell(value) for value in row])
    text.flush()
    text.detach()


def write_parquet(events: Iterable[Event], out: IO[bytes]) -> None:
    """One row an event, fields as JSON.  Raises `LogdoctorError` where pyarrow is missing."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise LogdoctorError("Parquet needs pyarrow", help="pip install 'logdoctor[scan]'") from None
    whole, real = ("line", "rank", "pid", "local_rank"), ("time",)
    kinds = {**dict.fromkeys(whole, pa.int64()), **dict.fromkeys(real, pa.float64())}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    rows = _rows(events)
    with pq.ParquetWriter(out, schema) as writer:
        while batch := [*islice(rows, BATCH)]:
            writer.write_table(pa.table([*map(list, zip(*batch, strict=True))], schema=schema))


def _rows(events: Iterable[Event]) -> Iterator[tuple[Any, ...]]:
    for event in events:
        found = plain(event)
        found["fields"] = json.dumps(found["fields"], ensure_ascii=True)
        found["text"] = escape(found["text"])
        yield tuple(found.get(name) for name in COLUMNS)


WRITERS: Mapping[str, Callable[[Iterable[Event], IO[bytes]], None]] = MappingProxyType(
    {"jsonl": write_jsonl, "csv": write_csv, "parquet": write_parquet}
)
"""The formats by name."""

"""Tables of a training's metrics, such as Lightning's ``metrics.csv``.

A cell may be empty, because training and validation write rows of their own.

Source: Lightning 2.0 to 2.6, fabric/loggers/csv_logs.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.artefacts.document import Document, Fact, Found
from logdoctor.artefacts.lines import rows_and_text
from logdoctor.artefacts.training_metrics import Metrics, is_step

KIND = "metrics-table"
HAS_NO_END = True
MAX_COLUMNS = 1000
# Strings, compiled at first use, because the readers are imported for each log.
_COUNT = r"\d{0,15}(?:\.0)?"
_HEADING = rb"[\w./ @:%-]{1,80}(?:,[\w./ @:%-]{0,80}){1,999}"


def sniff(head: bytes) -> bool:
    heading = head.partition(b"\n")[0].rstrip(b"\r")
    if b"loss" not in heading.lower() or re.fullmatch(_HEADING, heading) is None:
        return False
    return any(map(is_step, heading.decode().split(",")))


def read(document: Document) -> Iterator[Found]:
    metrics, columns = Metrics(), list[str]()

    def read_row(line: str, number: int) -> Iterator[Fact] | None:
        cells = line.split(",")
        if not columns:
            columns.extend(cells[:MAX_COLUMNS])
            return iter(())
        row = dict(zip(columns, cells, strict=False))
        steps = [row.get(name, "?") for name in columns if is_step(name)]
        return metrics.row(row, number) if all(re.fullmatch(_COUNT, step) for step in steps) else None

    yield from rows_and_text(document, read_row)
    yield from metrics.end()

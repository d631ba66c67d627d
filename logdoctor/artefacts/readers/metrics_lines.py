"""Metrics of a training as JSON, a row a line. Python writes bare ``NaN`` and ``Infinity``, which its parser reads.

Sources: wandb 0.16 to 0.22, the history of a run; transformers 4.30 to 5.0, ``log_history``; mmengine 0.10,
scalars.json; detectron2 0.6, metrics.json; fairseq 0.12, ``--log-format json``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from logdoctor.artefacts.document import Document, Fact, Found
from logdoctor.artefacts.lines import rows_and_text
from logdoctor.artefacts.training_metrics import Metrics, as_texts, is_loss, is_step

KIND = "metrics-lines"
HAS_NO_END = True
MAX_ROW = 1 << 20
_MESSAGE_KEYS = frozenset(("message", "msg", "log", "text", "event", "level", "levelname", "severity"))
# A string, compiled at first use, because the readers are imported for each log.
_START = rb"\s*\{ ?\"[\w./@ -]{1,80}\" ?: ?[\w\"{\[.+-]"


def sniff(head: bytes) -> bool:
    """Tell by the first rows, of which one has a step and a loss. A line with a message is of a log."""
    if b"loss" not in head or re.match(_START, head) is None:
        return False
    whole, _, _ = head.rpartition(b"\n")
    rows = [_row(line.decode("utf-8", "replace")) for line in (whole or head).splitlines() if line.strip()]
    return None not in rows and any(any(map(is_step, row)) and any(map(is_loss, row)) for row in rows if row)


def read(document: Document) -> Iterator[Found]:
    metrics = Metrics()

    def read_row(line: str, number: int) -> Iterator[Fact] | None:
        row = _row(line)
        return None if row is None else metrics.row(as_texts(row), number)

    yield from rows_and_text(document, read_row)
    yield from metrics.end()


def _row(line: str) -> dict[str, Any] | None:
    import json  # late, because the readers are imported for each log

    if not line.startswith("{") or len(line) > MAX_ROW:
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and _MESSAGE_KEYS.isdisjoint(row) else None

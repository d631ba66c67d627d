"""``trainer_state.json`` of transformers: the metrics that the Trainer logged stand in ``log_history``.

Source: transformers 4.30 to 5.0, trainer_callback.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from logdoctor.artefacts.document import Document, Fact
from logdoctor.artefacts.json_pieces import members
from logdoctor.artefacts.training_metrics import Metrics, as_texts

KIND = "trainer-state"
# Strings, compiled at first use, because the readers are imported for each log.
_START = rb"\s*\{\s*\"(?:best_\w+|epoch|eval_steps|global_step|log_history|is_\w+)\"\s*:"
_HISTORY = rb"\"log_history\"\s*:\s*\["


def sniff(head: bytes) -> bool:
    return re.match(_START, head) is not None and re.search(_HISTORY, head) is not None


def read(document: Document) -> Iterator[Fact]:
    metrics = Metrics()
    for where, row, line in members(document):
        if where.startswith("log_history[") and isinstance(row, Mapping):
            yield from metrics.row(as_texts(row), line, where)
    yield from metrics.end()

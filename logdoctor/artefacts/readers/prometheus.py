"""Metrics in the text format of Prometheus: what each gauge showed when somebody asked, perhaps several times.

Only step and loss of a training are told. What exporters say of GPUs and hosts are measurements, no failures.

Source: Prometheus, exposition formats, text format 0.0.4; OpenMetrics 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from logdoctor.artefacts.document import Document, Fact, Found
from logdoctor.artefacts.lines import rows_and_text
from logdoctor.artefacts.training_metrics import Metrics

KIND = "prometheus"
HAS_NO_END = True
MAX_SERIES = 4096
# Strings, compiled at first use, because the readers are imported for each log.
_START = rb"# (?:HELP \w[^\n]*\n# )?TYPE [a-zA-Z_:][\w:]* (?:gauge|counter|summary|histogram|untyped|unknown|info)\r?\n"
_SAMPLE = r"([a-zA-Z_:][\w:]*)(\{[^\n]*\})? +(\S{1,40})(?: +\S{1,40})?\s*"
_STEP = r"(?:\w+_)?train(?:ing|er)?_(?:global_)?(?:steps?|iterations?)(?:_total)?|(?:global_)?step"
_LOSS = r"(?:\w+_)?train(?:ing|er)?_(?:\w+_)?loss|loss"


class _Loss(NamedTuple):
    name: str
    value: str
    line: int


def sniff(head: bytes) -> bool:
    return head[:2] == b"# " and re.match(_START, head) is not None


def read(document: Document) -> Iterator[Found]:
    metrics, series, losses, step = Metrics(), set[str](), list[_Loss](), "0"

    def read_sample(line: str, number: int) -> list[Fact] | None:
        nonlocal step
        if line.startswith("#"):
            return []
        sample = re.fullmatch(_SAMPLE, line)
        if sample is None:
            return None
        name, labels, value = sample.groups(default="")
        found: list[Fact] = []
        if re.fullmatch(_STEP, name):
            if name + labels in series:
                found = told()
            series.add(name + labels)
            step = value
        elif re.fullmatch(_LOSS, name) and len(losses) < MAX_SERIES:
            losses.append(_Loss(name, value, number))
        return found

    def told() -> list[Fact]:
        """Return what the gauges told that were asked at once. A gauge may be no number before the first step."""
        rows, at = list(losses), step.partition(".")[0]
        losses.clear()
        series.clear()
        if at in ("", "0"):
            return []
        return [fact for loss in rows for fact in metrics.row({"step": at, loss.name: loss.value}, loss.line)]

    yield from rows_and_text(document, read_sample)
    yield from told()
    yield from metrics.end()

"""The rows of a training's metrics, as tables, JSON and Prometheus tell them: steps, and the loss that goes wrong.

Only a loss of the training proves that the training broke: a metric of a validation, and the norm of the gradients, may
be no number for a step, and a row may lack what it did not measure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from logdoctor.artefacts.document import Fact
from logdoctor.model import Value

GROWTH, BEYOND_START, FEWEST_GROWN = 1000, 10, 3
"""A run diverged if its last losses, this many, are so many times its best and so many times its first."""
MAX_NUMBER = 64
_STEPS = (
    ("step", r"(?i)(?:train(?:er)?/)?(?:global_?)?(?:step|steps|iteration|iter|num_updates)"),
    ("step", "_step"),  # of wandb: calls of its log
    ("epoch", r"(?i)(?:train(?:er)?/)?epochs?"),
)
_LOSS = r"(?i)(?!.*(?:val|test|eval|scale))(?:.*[_/. -])?loss(?:[_/. -](?:step|train|total))?"
_WHOLE_LOSS = r"(?i)(?:train(?:ing)?[_/. -])?(?:total[_/. -])?loss(?:[_/. -](?:step|train|total))?"


class Seen(NamedTuple):
    """A loss in its row."""

    name: str
    value: float
    unit: str
    at: int
    line: int
    where: str


def is_step(name: str) -> bool:
    return any(re.fullmatch(pattern, name) for _, pattern in _STEPS)


def is_loss(name: str) -> bool:
    return re.fullmatch(_LOSS, name) is not None


class Metrics:
    """Judges the rows of one run, in their order."""

    def __init__(self) -> None:
        self._finite: Seen | None = None
        self._first: Seen | None = None
        self._best: Seen | None = None
        self._grown: Seen | None = None
        """The row since which the loss stays far above the best one."""
        self._last: Seen | None = None
        self._count = 0
        self._is_broken = False

    def row(self, row: Mapping[str, str], line: int = 1, where: str = "") -> Iterator[Fact]:
        """Yield the step that a row tells, or the first loss that is no number. Rows behind such a loss are no work."""
        unit, at = _place(row)
        if at is None:
            return
        losses = [
            Seen(n, x, unit, at, line, where) for n, v in row.items() if is_loss(n) and (x := _number(v)) is not None
        ]
        bad = next((loss for loss in losses if not math.isfinite(loss.value)), None)
        if bad is not None:
            if not self._is_broken:
                yield self._not_finite(bad, row[bad.name])
            self._is_broken = True
        elif losses or not self._is_broken:
            told = losses[0] if losses else None
            fields: dict[str, Value] = {"unit": unit, "value": at, **({"loss": row[told.name]} if told else {})}
            text = f"{unit} {at}" + (f", {told.name} {row[told.name]}" if told else "")
            yield Fact("progress.step", text, fields, line, where)
            if told and not self._is_broken:
                self._finite = told
            self._compare(next((loss for loss in losses if re.fullmatch(_WHOLE_LOSS, loss.name)), None))

    def _not_finite(self, bad: Seen, printed: str) -> Fact:
        told: dict[str, Value] = {"metric": bad.name, "value": printed.lower(), "at": bad.at}
        if self._finite:
            told["last_finite"] = self._finite.at
        text = f"{bad.unit} {bad.at}: {bad.name} is {printed}"
        return Fact("metrics.not_finite", text, told, bad.line, bad.where, "error")

    def _compare(self, loss: Seen | None) -> None:
        """Note where the loss begins to stay far above the best one."""
        if loss is None or (self._first and loss.name != self._first.name):
            return
        self._first = self._first or loss
        self._best = self._best or loss
        if loss.value > max(GROWTH * abs(self._best.value), BEYOND_START * abs(self._first.value)):
            self._grown = self._grown or loss
            self._last, self._count = loss, self._count + 1
        else:
            self._grown, self._count = None, 0
            self._best = min(self._best, loss, key=lambda seen: seen.value)

    def end(self) -> Iterator[Fact]:
        """Yield that the run diverged, if it ends so."""
        first, best, last = self._grown, self._best, self._last
        if first and best and last and self._count >= FEWEST_GROWN and not self._is_broken:
            fields: dict[str, Value] = {
                "metric": first.name,
                "at": first.at,
                "value": f"{last.value:.4g}",
                "best": f"{best.value:.4g}",
                "best_at": best.at,
            }
            text = f"{first.unit} {first.at}: {first.name} is {first.value:.4g}"
            yield Fact("metrics.diverged", text, fields, first.line, first.where, "error")


def _place(row: Mapping[str, str]) -> tuple[str, int | None]:
    """Return unit and number of a row, of a step if it tells one."""
    for unit, pattern in _STEPS:
        for name, value in row.items():
            if re.fullmatch(pattern, name) and re.fullmatch(r"\d{1,15}(?:\.0)?", value):
                return unit, int(value.partition(".")[0])
    return "", None


def _number(text: str) -> float | None:
    try:
        return float(text) if len(text) < MAX_NUMBER else None
    except ValueError:
        return None


def as_texts(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the plain values of an object of JSON as texts."""
    return {
        str(name): str(value)
        for name, value in row.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }

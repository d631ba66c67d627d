"""Last progress records of each rank and attempt, in bounded memory."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.clocks import after

MAX_STEPS = 64
SURVIVED_STEPS = 3
"""Number of progress records after a failure that show that the job survived it."""
_BAR = "%|"
"""Mark of a progress bar.  Programs redraw a bar even if it does not move."""


class Steps(Struct):
    """Progress of one rank: the count and the latest records.

    The oldest record comes first.
    """

    count: int = 0
    latest: deque[Record] = field(default_factory=lambda: deque(maxlen=MAX_STEPS))
    older: deque[Record] = field(default_factory=lambda: deque(maxlen=MAX_STEPS))
    """Last records of each earlier attempt or job."""

    def begin_attempt(self) -> None:
        """Save the last records, because another attempt or job begins."""
        last = self.older[-1].order if self.older else -1
        self.older.extend(e for e in [*self.latest][-SURVIVED_STEPS:] if e.order > last)

    def outlive(self, record: Record, counts: Callable[[Record], bool]) -> bool:
        """Return whether enough steps were printed after the record.

        Only steps that pass ``counts`` count.
        """
        left, came_after, drawn = SURVIVED_STEPS, after(record), None
        for step in self.newest_first():
            if came_after(step) and counts(step):
                drawn, before = _bar_position(step), drawn
                left -= drawn is None or drawn != before
                if not left:
                    return True
        return False

    def seconds_per_step(self) -> float | None:
        """Return the median time between two steps, None if fewer than two steps tell it."""
        spans = [span for pair in pairwise(self.latest) if (span := _seconds_per_step(*pair)) is not None]
        return sorted(spans)[len(spans) // 2] if spans else None

    def newest_first(self) -> Iterator[Record]:
        """Yield each saved record once, the latest first."""
        yield from reversed(self.latest)
        first = self.latest[0].order if self.latest else sys.maxsize
        yield from (record for record in reversed(self.older) if record.order < first)

    def last(self, wanted: Callable[[Record], bool]) -> Record | None:
        """Return the latest saved record that passes ``wanted``."""
        return next((record for record in self.newest_first() if wanted(record)), None)


def _seconds_per_step(earlier: Record, later: Record) -> float | None:
    counts = (earlier.fields.get("value"), later.fields.get("value"))
    before, now = (count if isinstance(count, int | float) else 0 for count in counts)
    if earlier.time is None or later.time is None or now <= before or later.time < earlier.time:
        return None
    if earlier.fields.get("unit") != later.fields.get("unit"):
        return None
    return (later.time - earlier.time) / (now - before)


def _bar_position(record: Record) -> tuple[object, ...] | None:
    """Return the position of an unfinished progress bar.

    Return None for any other step. A bar that is redrawn at the same position is no step.
    """
    value, total = record.fields.get("value"), record.fields.get("total")
    return None if value == total or _BAR not in record.text else (value, total, record.fields.get("what"), record.rank)

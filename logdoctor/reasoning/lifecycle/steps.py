"""The progress that one speaker reported, in bounded memory: of each attempt or job of a log the last steps."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.clocks import after

PROGRESS_KEPT = 64
SURVIVED_STEPS = 3
"""So many progress records after an alleged failure speak against it."""
_BAR = "%|"
"""What makes a record a bar, which is drawn again and again where it stands."""


class Steps(Struct):
    """The progress that one source reported: the latest records, oldest first, and how many in all."""

    count: int = 0
    latest: deque[Record] = field(default_factory=lambda: deque(maxlen=PROGRESS_KEPT))
    older: deque[Record] = field(default_factory=lambda: deque(maxlen=PROGRESS_KEPT))
    """The last ones of each earlier attempt or job."""

    def put_aside(self) -> None:
        """Another attempt or job begins: keep the last ones of this one."""
        last = self.older[-1].order if self.older else -1
        self.older.extend(e for e in [*self.latest][-SURVIVED_STEPS:] if e.order > last)

    def survived(self, record: Record, counts: Callable[[Record], bool]) -> bool:
        """Whether enough of the kept records that ``counts`` were printed after ``event``."""
        left, came_after, drawn = SURVIVED_STEPS, after(record), None
        for kept in self.kept():
            if came_after(kept) and counts(kept):
                drawn, before = _drawn(kept), drawn
                left -= drawn is None or drawn != before
                if not left:
                    return True
        return False

    def kept(self) -> Iterator[Record]:
        """The kept records, the latest first, each once."""
        yield from reversed(self.latest)
        first = self.latest[0].order if self.latest else sys.maxsize
        yield from (record for record in reversed(self.older) if record.order < first)

    def last(self, wanted: Callable[[Record], bool]) -> Record | None:
        """The last one of those that are ``wanted``."""
        return next((record for record in self.kept() if wanted(record)), None)


def _drawn(record: Record) -> tuple[object, ...] | None:
    """Where a bar stands that is not full: drawn there once more, it tells of no step."""
    value, total = record.fields.get("value"), record.fields.get("total")
    return None if value == total or _BAR not in record.text else (value, total, record.fields.get("what"), record.rank)

"""The progress that one speaker reported, in bounded memory: of each attempt or job of a log the last steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from logdoctor.model import Event
from logdoctor.reasoning.clocks import printed_after

PROGRESS_KEPT = 64
SURVIVED_STEPS = 3
"""So many progress records after an alleged failure speak against it."""


@dataclass(slots=True)
class Steps:
    """The progress that one speaker reported: the latest records, oldest first, and how many in all."""

    count: int = 0
    latest: deque[Event] = field(default_factory=lambda: deque(maxlen=PROGRESS_KEPT))
    older: deque[Event] = field(default_factory=lambda: deque(maxlen=PROGRESS_KEPT))
    """The last ones of each earlier attempt or job."""

    def put_aside(self) -> None:
        """Another attempt or job begins: keep the last ones of this one."""
        last = self.older[-1].order if self.older else -1
        self.older.extend(e for e in [*self.latest][-SURVIVED_STEPS:] if e.order > last)

    def after(self, event: Event, counts: Callable[[Event], bool]) -> int:
        """How many of the kept records that ``counts`` were printed after ``event``."""
        last = self.older[-1].order if self.older else -1
        kept = (*self.older, *(e for e in self.latest if e.order > last))
        return sum(printed_after(e, event) and counts(e) for e in kept)

    def last(self, wanted: Callable[[Event], bool]) -> Event | None:
        """The last one of those that are ``wanted``."""
        kept = (*reversed(self.latest), *reversed(self.older))
        return next((event for event in kept if wanted(event)), None)

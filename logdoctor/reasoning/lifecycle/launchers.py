"""Process ends that launchers report.

A launcher names the process whose end it noticed first. That end may follow from the end of another process. The
question of the first death decides which end came first.
"""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.attempts import Attempts
from logdoctor.reasoning.lifecycle.clocks import SKEW, elapsed

MAX_ENDS = 1024


class NamedEnds(Struct, frozen=True):
    """The ends that launchers name, in reading order.

    ``first_death`` is the end that came before all others, see `JobState.knowing`.
    """

    attempts: Attempts
    ends: list[Record] = field(default_factory=list)
    first_death: Record | None = None

    def add(self, record: Record) -> None:
        if len(self.ends) < MAX_ENDS:
            self.ends.append(record)

    def ends_in_attempt_of(self, record: Record) -> list[Record]:
        """Return the first named end in the attempt of the record, for each file that tells of attempts.

        Reading order decides, unless a later file shows a clearly earlier time. Return only ``first_death`` if that
        names a rank.
        """
        died = self.first_death
        if died is not None and died.rank is not None and self.attempts.same_span(died, record):
            return [died]
        first: list[Record] = []
        for end in self.ends:
            if not first or not self.attempts.same_span(first[-1], end):
                first.append(end)
            elif (elapsed(end, first[-1]) or 0.0) > SKEW:
                first[-1] = end
        return [*filter(self.attempts.span_test(record), first)]

    def all_in_attempt_of(self, record: Record) -> list[Record]:
        """Return the named ends in the attempt of the record."""
        return [*filter(self.attempts.span_test(record), self.ends)]

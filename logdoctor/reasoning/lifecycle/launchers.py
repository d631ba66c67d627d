"""Process ends that launchers report.

A launcher names the process whose end it noticed first. That end may follow from the end of another process. The
question of the first death decides which end came first.
"""

from __future__ import annotations

from copy import copy
from itertools import chain

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.attempts import Attempts
from logdoctor.reasoning.lifecycle.clocks import SKEW, elapsed

MAX_ENDS = 64


class NamedEnds:
    """First end that launchers name in each attempt.

    ``first_death`` is the end that came before all others, see `knowing`.
    """

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts
        self._first: list[Record] = []
        self._all: list[list[Record]] = []
        """The ends of each attempt, a bounded number."""
        self.first_death: Record | None = None

    def add(self, record: Record) -> None:
        """Add an end.  Reading order decides, unless a later file shows a clearly earlier time."""
        first = self._first[-1] if self._first else None
        if first is None or not self._attempts.same_span(first, record):
            self._first.append(record)
            self._all.append([record])
            return
        if len(self._all[-1]) < MAX_ENDS:
            self._all[-1].append(record)
        if (elapsed(record, first) or 0.0) > SKEW:
            self._first[-1] = record

    def knowing(self, first_death: Record | None) -> NamedEnds:
        """Return a view in which it is known which end came first."""
        view = copy(self)
        view.first_death = first_death
        return view

    def ends_in_attempt_of(self, record: Record) -> list[Record]:
        """Return the named ends in the attempt of the record.

        Return only ``first_death`` if that names a rank.
        """
        died = self.first_death
        if died is not None and died.rank is not None and self._attempts.same_span(died, record):
            return [died]
        return [*filter(self._attempts.span_test(record), self._first)]

    def all_in_attempt_of(self, record: Record) -> list[Record]:
        """Return the ends in the attempt of the record, but no more than `MAX_ENDS`."""
        return [*filter(self._attempts.span_test(record), chain.from_iterable(self._all))]

"""Counters of steps: where each one stands, and whether it ever began again."""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import Struct

from logdoctor.model import Record

MAX_COUNTERS = 4096


class _Counter(Struct):
    value: float
    total: float
    first: float
    stride: float = 1
    records: int = 1
    began_again: bool = False

    @property
    def at_end(self) -> bool:
        """Return whether the last step is reached. The last of 10 steps counted from 0 is 9."""
        return self.value == self.total or (self.first == 0 and self.value + 1 == self.total)


class Counters:
    """The counters with a total, by rank, unit and total.

    The main counter of a job never begins again. A counter of batches does, in each epoch.
    """

    def __init__(self) -> None:
        self._counters: dict[Hashable, _Counter] = {}

    def begin_attempt(self) -> None:
        self._counters.clear()

    def observe(self, step: Record) -> None:
        value, total = step.fields.get("value"), step.fields.get("total")
        if not isinstance(value, int | float) or not isinstance(total, int | float):
            return
        counter = self._counters.get(key := _key(step))
        if counter is not None:
            counter.began_again |= value < counter.value
            counter.stride = value - counter.value
            counter.value, counter.records = value, counter.records + 1
        elif len(self._counters) < MAX_COUNTERS:
            self._counters[key] = _Counter(value, total, value)

    def are_complete(self, last: Record) -> bool:
        """Return whether all counters reached their totals, and ``last`` is a step of the main one."""
        main = self._counters.get(_key(last))
        if main is None or main.records < 2 or main.began_again or "epoch" in last.fields:
            return False
        return all(counter.value == counter.total for counter in self._counters.values())

    def is_at_end(self, last: Record) -> bool:
        """Return whether the counter of ``last`` reached its end."""
        counter = self._counters.get(_key(last))
        return counter is not None and counter.records > 1 and counter.at_end

    def may_end_after(self, last: Record) -> bool:
        """Return whether the step after ``last`` would be beyond the total of its counter."""
        counter = self._counters.get(_key(last))
        return (
            counter is not None
            and counter.records > 1
            and (counter.at_end or counter.value + counter.stride >= counter.total)
        )


def _key(step: Record) -> Hashable:
    return step.rank, step.fields.get("unit"), step.fields.get("total")

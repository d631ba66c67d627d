"""Exceptions that a program caught, logged and got over: nothing went wrong after them."""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record

MOST = 4096
GAP = 3
"""So many lines may stand between the parts of a chain of exceptions, or above the first of them."""


class GotOver(Struct):
    """Keeps the exceptions, with the line that announces each, since anything else failed."""

    orders: set[int] = field(default_factory=set)
    """Of the events that the program got over."""
    pending: list[Record] = field(default_factory=list)
    """Errors that may turn out to be the first lines of what it got over."""
    file: str | None = None
    elsewhere: bool = False
    """Whether something failed in another file, too: who knows whether that came later."""

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if not record.failing:
            return
        self.elsewhere = self.elsewhere or self.file not in (None, record.line.file)
        self.file = record.line.file
        above = self.pending and 0 <= _first(record) - _last(self.pending[-1]) <= GAP
        caught = record.kind == "python.traceback" and "went_on" in record.fields
        if self.pending and not above:
            self._fail()
        if caught:
            self.orders.update(e.order for e in (*self.pending, record))
            self.pending.clear()
        elif record.kind in ("python.traceback", "generic.error") and len(self.pending) < GAP:
            self.pending.append(record)
        else:
            self._fail()
        if len(self.orders) > MOST:
            self._fail()

    def covers(self, record: Record) -> bool:
        """Whether the program got over ``event``, and all was well from then on."""
        return not self.pending and not self.elsewhere and record.order in self.orders

    def _fail(self) -> None:
        self.orders.clear()
        self.pending.clear()


def _first(record: Record) -> int:
    return record.lines[0].number if record.lines else record.line.number


def _last(record: Record) -> int:
    return _first(record) + record.span - 1

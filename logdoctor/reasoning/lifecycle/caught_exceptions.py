"""Exceptions that a program caught, as its log lines say."""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record

MAX_ORDERS = 4096
GAP = 3
"""Number of lines that may stand between the parts of a chain of exceptions, or above its first part."""


class CaughtExceptions(Struct):
    """Caught exceptions since the last failure, with the log lines that announce them."""

    orders: set[int] = field(default_factory=set)
    """`Record.order` of each record of a caught exception."""
    pending: list[Record] = field(default_factory=list)
    """Errors that may be the first lines of a caught exception."""
    file: str | None = None
    elsewhere: bool = False
    """True if another file holds a failure too.  The order of two files is unknown."""

    def add(self, failure: Record) -> None:
        self.elsewhere = self.elsewhere or self.file not in (None, failure.line.file)
        self.file = failure.line.file
        above = self.pending and 0 <= _first(failure) - _last(self.pending[-1]) <= GAP
        if self.pending and not above:
            self._forget()
        if "went_on" in failure.fields:
            self.orders.update(e.order for e in (*self.pending, failure))
            self.pending.clear()
        elif len(self.pending) < GAP:
            self.pending.append(failure)
        else:
            self._forget()
        if len(self.orders) > MAX_ORDERS:
            self._forget()

    def holds(self, record: Record) -> bool:
        """Return whether the record is of a caught exception.  After a later failure the result is False."""
        return not self.pending and not self.elsewhere and record.order in self.orders

    def _forget(self) -> None:
        self.orders.clear()
        self.pending.clear()


def _first(record: Record) -> int:
    return record.lines[0].number if record.lines else record.line.number


def _last(record: Record) -> int:
    return _first(record) + record.span - 1

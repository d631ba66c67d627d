"""Exceptions that a program caught and logged without a later failure."""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record

MOST = 4096
GAP = 3
"""Number of lines that may stand between the parts of a chain of exceptions, or above its first part."""


class CaughtExceptions(Struct):
    """Caught exceptions since the last failure.

    Log lines that announce an exception are stored too.
    """

    orders: set[int] = field(default_factory=set)
    """`Record.order` of each record of a caught exception."""
    pending: list[Record] = field(default_factory=list)
    """Errors that may be the first lines of a caught exception."""
    file: str | None = None
    elsewhere: bool = False
    """True if another file holds a failure too.  The order of two files is unknown."""

    def observe(self, record: Record) -> None:
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

    def cover(self, record: Record) -> bool:
        """Return whether the record is a caught exception.

        A later failure makes the result False.
        """
        return not self.pending and not self.elsewhere and record.order in self.orders

    def _fail(self) -> None:
        self.orders.clear()
        self.pending.clear()


def _first(record: Record) -> int:
    return record.lines[0].number if record.lines else record.line.number


def _last(record: Record) -> int:
    return _first(record) + record.span - 1

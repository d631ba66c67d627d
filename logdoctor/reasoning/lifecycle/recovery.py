"""Signs, besides steps and good ends, that a program got over its errors."""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record

MAX_ORDERS, MAX_RANKS = 4096, 1 << 16
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


class RollCall(Struct):
    """Ranks that reported themselves since the last start, one after the other.

    Example: ``Hello world from processor n1, rank 3 out of 8 processors``.  If all have, the network works, so errors
    that were only reported before are over.  A failure or the end of a process spoils the result.
    """

    complete: Record | None = None
    """Last report, if all ranks of the job have reported and no failure came after."""
    since: int = 0
    total: int = 0
    ranks: set[int] = field(default_factory=set)

    def begin(self, start: Record) -> None:
        self.since, self.total, self.complete = start.order, 0, None
        self.ranks.clear()

    def add(self, record: Record, *, over: bool) -> None:
        """Add a report.  ``over`` says that a process ended before."""
        rank, total = record.fields.get("value"), record.fields.get("total")
        if isinstance(rank, int) and isinstance(total, int) and 1 < total <= MAX_RANKS:
            if total != self.total:
                self.total = total
                self.ranks.clear()
            self.ranks.add(rank)
            if len(self.ranks) >= total:  # a count, because some programs number ranks from 1
                self.complete = record
        if over:
            self.complete = None

    def spoil(self) -> None:
        self.complete = None

    def ends_after(self, record: Record) -> bool:
        """Return whether all ranks reported later in the run of ``record``."""
        return self.complete is not None and self.since <= record.order < self.complete.order

"""Greetings of the ranks of MPI's smallest test program.

Example: ``Hello world from processor n1, rank 3 out of 8 processors``. If all ranks have greeted, the network works.
Errors that were only reported before in the same run are then outlived, for example a transport or a PMIx store that
could not be used.
"""

from __future__ import annotations

from logdoctor.model import Record

MAX_RANKS = 1 << 16


class Greetings:
    """Ranks that greeted since the last start.

    A failure or the end of a process spoils the result.
    """

    def __init__(self) -> None:
        self.complete: Record | None = None
        """Last greeting, if all ranks of the job have greeted and no failure came after."""
        self._since = 0
        self._total = 0
        self._ranks: set[int] = set()

    def observe(self, record: Record, *, over: bool) -> None:
        """Add a greeting.

        ``over`` means that the end of a process was reported before.
        """
        if record.kind == "progress.greeted":
            self._add(record)
            self.complete = None if over else self.complete
        elif record.kind == "shell.launch":
            self._since, self._total, self.complete = record.order, 0, None
            self._ranks.clear()
        elif record.failing:
            self.complete = None

    def cover(self, record: Record) -> bool:
        """Return whether all ranks greeted later in this run.

        Fatal records are never covered.
        """
        last = self.complete
        return last is not None and record.level != "fatal" and self._since <= record.order < last.order

    def _add(self, record: Record) -> None:
        rank, total = record.fields.get("value"), record.fields.get("total")
        if not isinstance(rank, int) or not isinstance(total, int) or not 1 < total <= MAX_RANKS:
            return
        if total != self._total:
            self._total = total
            self._ranks.clear()
        self._ranks.add(rank)
        if len(self._ranks) >= total:  # a count, because some programs number ranks from 1
            self.complete = record

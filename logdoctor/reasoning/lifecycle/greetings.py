"""Greetings: the smallest test of MPI lets each rank say which it is.

Once all have, the network was set up well enough: what was only reported before that, such as a transport or a store of
PMIx that could not be used, is outlived; not so in the run before.
"""

from __future__ import annotations

from logdoctor.model import Record

MAX_RANKS = 1 << 16


class Greetings:
    """Collects who greeted since the last start, until something fails or a process ends."""

    def __init__(self) -> None:
        """Start with nobody."""
        self.complete: Record | None = None
        """The last greeting, if all ranks of the job have greeted and nothing failed since."""
        self._since = 0
        self._total = 0
        self._seen: set[int] = set()

    def observe(self, record: Record, *, over: bool) -> None:
        """Take one event in; ``over``: somebody told of a process's end before."""
        if record.kind == "progress.greeted":
            self._see(record)
            self.complete = None if over else self.complete
        elif record.kind == "shell.launch":
            self._since, self._total, self.complete = record.order, 0, None
            self._seen.clear()
        elif record.failing:
            self.complete = None

    def covers(self, record: Record) -> bool:
        """Whether ``event`` was only reported, in the run whose ranks all greeted later."""
        last = self.complete
        return last is not None and record.level != "fatal" and self._since <= record.order < last.order

    def _see(self, record: Record) -> None:
        rank, total = record.fields.get("value"), record.fields.get("total")
        if not isinstance(rank, int) or not isinstance(total, int) or not 1 < total <= MAX_RANKS:
            return
        if total != self._total:
            self._total = total
            self._seen.clear()
        self._seen.add(rank)
        if len(self._seen) >= total:  # some count from 1
            self.complete = record

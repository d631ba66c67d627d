"""The timeline of a job: the records that the questions ask for, in bounded memory.

It is the only memory of `questions`. Of each sort of record it keeps the first and the last ones, and the first and the
last of each process.

There is one reset, for each file. A new attempt begins with a record that says that the launcher starts the workers, or
if processes start or come up after one of them had waited in vain. The records above it in its file are forgotten.
Other files are kept, because the order of lines in two files is unknown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from itertools import chain

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.dispatch import MAX_SORTS, sorts_of
from logdoctor.reasoning.lifecycle.attempts import comes_up, starts_workers
from logdoctor.reasoning.processes import process_of

MAX_FIRST, MAX_LAST = 64, 16
MAX_PROCESSES = 4096
"""Processes of a sort."""
MAX_ALL = 1 << 15
"""Processes of all sorts together."""
MAX_FILES = 4096
KEEPS_LINES = frozenset({"tells stack", "tells call"})
"""Sorts of which the proof may be another line than the first."""

Voice = tuple[object, ...]
"""The process that a record is about, its number in a group, and the group or the peer of its call."""


class Shelf(Struct):
    """Records of one sort, as far as they are kept."""

    sorts: frozenset[str]
    first: list[Record] = field(default_factory=list)
    last: deque[Record] = field(default_factory=lambda: deque(maxlen=MAX_LAST))
    of_process: dict[str, dict[Voice, tuple[Record, Record]]] = field(default_factory=dict)
    """First and last record of each process, by file."""
    processes: int = 0
    longest_gap: float = 0.0
    """Longest time between two records, in seconds."""
    time: float | None = None
    """Time of the latest record."""

    def __iter__(self) -> Iterator[Record]:
        yield from self.first
        for by_process in self.of_process.values():
            yield from chain.from_iterable(by_process.values())
        yield from self.last

    def add(self, record: Record, *, has_room: bool) -> int:
        """Add a record, and return the number of new processes: 1 or 0."""
        if record.time is not None and self.time is not None:
            self.longest_gap = max(self.longest_gap, record.time - self.time)
        self.time = record.time
        (self.first if len(self.first) < MAX_FIRST else self.last).append(record)
        process, file = _voice(record), record.line.file
        known = self.of_process.get(file, {})
        if process in known:
            known[process] = known[process][0], record
            return 0
        if self.processes >= MAX_PROCESSES or not has_room:
            return 0
        self.of_process.setdefault(file, {})[process] = record, record
        self.processes += 1
        return 1

    def forget(self, file: str) -> int:
        """Forget the records of a file, and return the number of their processes."""
        self.first = [e for e in self.first if e.line.file != file]
        self.last = deque((e for e in self.last if e.line.file != file), MAX_LAST)
        forgotten = len(self.of_process.pop(file, ()))
        self.processes -= forgotten
        return forgotten


class Timeline:
    """Records of the last attempt, by what they are."""

    def __init__(self, sorts: Collection[str]) -> None:
        """Keep the records of these sorts only, see `dispatch.Reader`."""
        self.wanted = frozenset(sorts)
        self.READS = (*sorts, "starts", "starts again", "comes up", "waits")
        self._shelves: dict[tuple[str, bool], Shelf] = {}
        self._processes = 0
        self._waited: set[str] = set()
        """Files in which a process waited in vain in this attempt."""
        self._begun: dict[str, int] = {}
        """`Record.order` of the start of the last attempt in each file."""

    def observe(self, record: Record) -> None:
        file = record.line.file
        if starts_workers(record) or (file in self._waited and comes_up(record)):
            self._begin_attempt(file, record.order)
        elif record.has("waits", "process") and len(self._waited) < MAX_FILES:
            self._waited.add(file)
        shelf = self._shelf(record)
        if shelf is not None:
            kept = record if shelf.sorts & KEEPS_LINES else record.without_lines()
            self._processes += shelf.add(kept, has_room=self._processes < MAX_ALL)

    def _shelf(self, record: Record) -> Shelf | None:
        key = record.kind, record.failing
        shelf = self._shelves.get(key)
        if shelf is None and len(self._shelves) < MAX_SORTS and (sorts := self.wanted & sorts_of(record)):
            shelf = self._shelves[key] = Shelf(sorts)
        return shelf

    def _begin_attempt(self, file: str, order: int) -> None:
        self._waited.discard(file)
        if file in self._begun or len(self._begun) < MAX_FILES:
            self._begun[file] = order
        self._processes -= sum(shelf.forget(file) for shelf in self._shelves.values())

    def of(self, *sorts: str) -> list[Record]:
        """Return the kept records of any of these sorts in reading order."""
        asked = frozenset(sorts)
        if unknown := asked - self.wanted:
            raise LookupError(f"no question says that it asks for {', '.join(sorted(unknown))}")
        by_order = {e.order: e for shelf in self._shelves.values() if shelf.sorts & asked for e in shelf}
        return [by_order[order] for order in sorted(by_order)]

    def holds(self, record: Record) -> bool:
        """Return whether a record belongs to the last attempt in its file."""
        return record.order >= self._begun.get(record.line.file, 0)

    def longest_silence(self, sort: str) -> float:
        """Return the longest time between two records of a sort in seconds, of all that there were."""
        return max((shelf.longest_gap for shelf in self._shelves.values() if sort in shelf.sorts), default=0.0)


def _voice(record: Record) -> Voice:
    fields = record.fields
    return process_of(record), fields.get("group_rank"), fields.get("pg", fields.get("peer"))

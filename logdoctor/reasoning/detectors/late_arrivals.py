"""Ranks that never came to the first barrier of a process group.

Derived record (format ``ledger``, on the first line of a rank that waits or timed out):

- ``ledger.never_came``  some ranks of the world did not come to the store-based barrier: missing, missing_hosts,
  joined, world

Each process adds one to a counter in the store. Until all have come, it prints its global rank, the group size and the
counter every ten seconds. If as many ranks print as the counter says, the other ranks have not come. A group of some
ranks has other members than 0 to size - 1. So nothing is derived if a larger rank prints. Source:
torch/distributed/distributed_c10d.py, `_store_based_barrier`, 1.8 to 2.15.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import starts_workers

MAX_RANKS = 4096
SEARCHED = 2000
MIN_LINES = 4
"""Fewer lines may be a short wait."""
_BARRIER = later(
    r"(?:for|on) rank:? (?P<rank>\d{1,7})\b[^\n]{0,200}?world_size=(?P<world>\d{1,7}), "
    r"(?:worker_count|num_workers_joined)=(?P<joined>\d{1,7})"
)


class Detector(Struct):
    """Ranks that wait in the first barrier."""

    READS: ClassVar = ("starts", "starts again", "comes up")
    PHRASES: ClassVar = ("store based barrier",)

    waiting: set[int] = field(default_factory=set)
    joined: int = 0
    world: int = 0
    lines: int = 0
    has_timeout: bool = False
    is_complete: bool = False
    first: Record | None = None

    def observe(self, record: Record) -> None:
        if starts_workers(record):
            self._reset()
        elif record.has("comes up"):
            self.is_complete = True
        elif "in store based barrier" in record.text[:SEARCHED] and (match := _BARRIER.search(record.text[:SEARCHED])):
            numbers = number_fields(match.groupdict())
            if len(numbers) == 3:
                self._read_barrier(record, **numbers)

    def _reset(self) -> None:
        self.waiting.clear()
        self.joined, self.world, self.lines = 0, 0, 0
        self.has_timeout, self.is_complete, self.first = False, False, None

    def _read_barrier(self, record: Record, rank: int, world: int, joined: int) -> None:
        if len(self.waiting) >= MAX_RANKS:
            return
        if world != self.world:
            self._reset()
            self.world = world
        self.waiting.add(rank)
        self.joined = max(self.joined, joined)
        self.lines += 1
        is_timeout = record.failing
        if self.first is None or (is_timeout and not self.has_timeout):
            self.first = record
        self.has_timeout = self.has_timeout or is_timeout

    def derive(self, state: JobState) -> list[Record]:
        if self.first is None or self.is_complete or not (self.has_timeout or self.lines >= MIN_LINES):
            return []
        if len(self.waiting) != self.joined or max(self.waiting) >= self.world or 2 * self.joined < self.world:
            return []
        missing = tuple(sorted(set(range(self.world)) - self.waiting))
        if not missing:
            return []
        fields: dict[str, Value] = {"missing": missing, "joined": self.joined, "world": self.world}
        return [derive_record("never_came", self.first, {**fields, "missing_hosts": state.places.hosts_with(missing)})]

"""Processes at the first barrier of a process group: some that never came, or more than the world has.

Derived records (format ``ledger``):

- ``ledger.never_came``  some ranks of the world did not come (on the first line of a rank that waits or timed out):
  missing, missing_hosts, joined, world
- ``ledger.world_exceeded``  more processes came than the world has ranks (on the first line that says so): rank (the
  rank that prints it), world, joined

Each process adds one to a counter in the store. Until all have come, it prints its global rank, the group size and the
counter every ten seconds. If as many ranks print as the counter says, the other ranks have not come. A group of some
ranks has other members than 0 to size - 1. So nothing is derived if a larger rank prints. Source:
torch/distributed/distributed_c10d.py, `_store_based_barrier`, 1.8 to 2.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import starts_workers

MAX_RANKS = 4096
SEARCHED = 2000
MIN_LINES = 4
"""Fewer lines may be a short wait."""
PHRASE = "store based barrier"
_BARRIER = later(
    r"(?:for|on) rank:? (?P<rank>\d{1,7})\b[^\n]{0,200}?world_size=(?P<world>\d{1,7}), "
    r"(?:worker_count|num_workers_joined)=(?P<joined>\d{1,7})"
)


class Barrier(Struct):
    """Ranks that wait in the barrier of a group."""

    world: int = 0
    joined: int = 0
    ranks: set[int] = field(default_factory=set)
    lines: int = 0
    first: Record | None = None
    """First time-out, else the first line."""
    is_complete: bool = False

    def add(self, record: Record, rank: int, joined: int) -> None:
        self.ranks.add(rank)
        self.joined = max(self.joined, joined)
        self.lines += 1
        if self.first is None or (record.failing and not self.first.failing):
            self.first = record


class Detector(Struct):
    """The last barrier, and the first line with too many processes."""

    READS: ClassVar = ("starts", "starts again", "comes up", "failing", "tells size")

    barrier: Barrier = field(default_factory=Barrier)
    exceeded: tuple[Record, dict[str, int]] | None = None

    def observe(self, record: Record) -> None:
        text = record.text[:SEARCHED]
        if starts_workers(record):
            self.barrier = Barrier()
        elif record.has("comes up"):
            self.barrier.is_complete = True
        elif PHRASE in text and (match := _BARRIER.search(text)):
            numbers = number_fields(match.groupdict())
            if len(numbers) == 3:
                self._read_line(record, **numbers)

    def _read_line(self, record: Record, rank: int, world: int, joined: int) -> None:
        if joined > world and self.exceeded is None:
            self.exceeded = record, {"rank": rank, "world": world, "joined": joined}
        if world != self.barrier.world:
            self.barrier = Barrier(world)
        if len(self.barrier.ranks) < MAX_RANKS:
            self.barrier.add(record, rank, joined)

    def derive(self, state: JobState) -> Iterator[Record]:
        if self.exceeded is not None:
            record, numbers = self.exceeded
            yield derive_record("world_exceeded", record, **numbers)
        barrier, world = self.barrier, self.barrier.world
        if barrier.first is None or barrier.is_complete or (not barrier.first.failing and barrier.lines < MIN_LINES):
            return
        if len(barrier.ranks) != barrier.joined or max(barrier.ranks) >= world or 2 * barrier.joined < world:
            return
        if missing := tuple(sorted(set(range(world)) - barrier.ranks)):
            hosts = state.places.hosts_with(missing)
            yield derive_record(
                "never_came", barrier.first, missing=missing, missing_hosts=hosts, joined=barrier.joined, world=world
            )

"""The ledger of arrivals: who never came to the first barrier of a process group.

Derived event (dialect ``ledger``; it stands on the first line of a rank that waits, or gave up):

- ``ledger.never_came``  all who came to the store-based barrier say so, and some of the world do not: missing,
  missing_hosts, joined, world

Facts (torch/distributed/distributed_c10d.py, `_store_based_barrier`, 1.8 to 2.15): each process adds one to a counter
in the store and prints its global rank, the size of the group and the counter every ten seconds until all have come.
So where as many ranks print as the counter says have come, those that do not print have not come.  A group of some
ranks only has other members than 0 … size - 1; where a larger rank prints, nothing is derived.
"""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import STARTS

MAX_RANKS = 4096
SEARCHED = 2000
FEWEST_LINES = 4
"""Fewer may be the wait of a moment."""
_BARRIER = later(
    r"(?:for|on) rank:? (?P<rank>\d{1,7})\b[^\n]{0,200}?world_size=(?P<world>\d{1,7}), "
    r"(?:worker_count|num_workers_joined)=(?P<joined>\d{1,7})"
)


class Detector(Struct):
    """Keeps who waits in the first barrier; `derive` tells who never came there."""

    waiting: set[int] = field(default_factory=set)
    joined: int = 0
    world: int = 0
    lines: int = 0
    gave_up: bool = False
    passed: bool = False
    first: Record | None = None

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if not STARTS.isdisjoint(record.signs):
            self._start_anew()
        elif record.kind == "c10d.barrier_done":
            self.passed = True
        elif "in store based barrier" in record.text[:SEARCHED] and (found := _BARRIER.search(record.text[:SEARCHED])):
            self._see(record, int(found["rank"]), int(found["world"]), int(found["joined"]))

    def _start_anew(self) -> None:
        self.waiting.clear()
        self.joined, self.world, self.lines = 0, 0, 0
        self.gave_up, self.passed, self.first = False, False, None

    def _see(self, record: Record, rank: int, world: int, joined: int) -> None:
        if len(self.waiting) >= MAX_RANKS:
            return
        if world != self.world:
            self._start_anew()
            self.world = world
        self.waiting.add(rank)
        self.joined = max(self.joined, joined)
        self.lines += 1
        failed = record.failing
        if self.first is None or (failed and not self.gave_up):
            self.first = record
        self.gave_up = self.gave_up or failed

    def derive(self, state: JobState) -> list[Record]:
        """The events that follow from all that was observed."""
        if self.first is None or self.passed or not (self.gave_up or self.lines >= FEWEST_LINES):
            return []
        if len(self.waiting) != self.joined or max(self.waiting) >= self.world or 2 * self.joined < self.world:
            return []
        missing = tuple(sorted(set(range(self.world)) - self.waiting))
        if not missing:
            return []
        fields: dict[str, Value] = {"missing": missing, "joined": self.joined, "world": self.world}
        return [derived("never_came", self.first, {**fields, "missing_hosts": state.places.hosts_with(missing)})]

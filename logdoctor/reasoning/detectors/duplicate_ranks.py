"""Ranks that two processes took before their group was complete.

Derived records (format ``ledger``, each on the line of the second process):

- ``ledger.rank_twice``  twice (the ranks that several processes took), world_size (where printed)

A process prints its rank once, when it joins the group. Two processes with the same rank come from two independent
launchers. Their group never becomes complete. A process that joins again after its group was complete does not count.
Source: the records `lightning.rank` and `lightning.world` (Lightning 1.0 to 2.5).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.detectors import forget
from logdoctor.reasoning.job_state import JobState

MAX_RANKS = 65536
MAX_DUPLICATES = 64


class Detector(Struct):
    """Ranks of processes since the group was last complete."""

    READS: ClassVar = ("tells rank", "tells size", "starts again")

    ranks: dict[tuple[str, int], int] = field(default_factory=dict)
    """`Record.order` of the first process that took a rank of a file."""
    duplicates: dict[int, Record] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        if record.tells("rank") and record.has("starts"):
            self._add_rank(record)
        elif not record.tells("rank"):
            forget(self)

    def derive(self, state: JobState) -> Iterator[Record]:
        """Return a record for all duplicate ranks, if there are at least two."""
        last_step = state.steps.last
        stepped = last_step.order if last_step is not None else -1  # a step shows that the group was complete
        taken = [e for rank, e in self.duplicates.items() if self.ranks[e.line.file, rank] > stepped]
        records = state.runs.select_last_run(taken)
        if len(records) < 2:  # a single rank may be a restarted process
            return
        twice = tuple(sorted(e.rank for e in records if e.rank is not None))
        yield derive_record("rank_twice", records[0], twice=twice, world_size=records[0].fields.get("world_size"))

    def _add_rank(self, record: Record) -> None:
        if record.rank is None or len(self.ranks) >= MAX_RANKS:
            return
        key = (record.line.file, record.rank)
        if key in self.ranks and len(self.duplicates) < MAX_DUPLICATES:
            self.duplicates.setdefault(record.rank, record.without_lines())
        self.ranks.setdefault(key, record.order)

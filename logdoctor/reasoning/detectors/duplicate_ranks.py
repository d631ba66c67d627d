"""The ledger of members: two processes that came to the first meeting under one rank.

Derived events (dialect ``ledger``; each stands on the line of the second process):

- ``ledger.rank_twice``  twice (the ranks that more than one process took), world_size (where printed)

A process tells its rank once, when it joins the group.  Two that tell the same one, before anybody says that all have
met or makes a step, were started by two launchers that do not know of each other: the group never becomes complete.
A process that joins once more after its group was complete is nothing of the kind.  Source: `lightning.rank` and
`lightning.world` of the dialects (Lightning 1.0 to 2.5).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.job_state import JobState

MAX_RANKS = 65536
KEPT = 64


class Detector(Struct):
    """Keeps which ranks were told since the last meeting; `derive` gives those told twice."""

    told: set[tuple[str, int]] = field(default_factory=set)
    twice: dict[int, Record] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if record.kind == "lightning.rank":
            self._tell(record)
        elif (self.told or self.twice) and (
            record.kind == "lightning.world" or record.format == "progress" or "restart" in record.signs
        ):
            self.told.clear()
            self.twice.clear()

    def derive(self, state: JobState) -> Iterator[Record]:
        """One event for all ranks that two processes took, where each of several ranks was."""
        standing = state.runs.select_last_run(self.twice.values())
        if len(standing) < 2:  # one alone may be a process that was started anew
            return
        first = standing[0]
        fields: dict[str, Value] = {"twice": tuple(sorted(e.rank for e in standing if e.rank is not None))}
        if (world := first.fields.get("world_size")) is not None:
            fields["world_size"] = world
        yield derived("rank_twice", first, fields)

    def _tell(self, record: Record) -> None:
        if record.rank is None or len(self.told) >= MAX_RANKS:
            return
        seen = (record.line.file, record.rank)
        if seen in self.told and len(self.twice) < KEPT:
            self.twice.setdefault(record.rank, record.without_lines())
        self.told.add(seen)

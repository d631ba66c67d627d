"""The ledger of stalls: for whom Horovod waits.

Derived events (dialect ``ledger``; each stands on the stall's line):

- ``ledger.stalled``              one side waits for few: late, work
- ``ledger.collective_mismatch``  ranks wait for each other: op, ranks
"""

from __future__ import annotations

from msgspec import Struct

from logdoctor.model import Record
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import STARTS


class Detector(Struct):
    """Keeps the last stall of the last attempt; one that names ranks goes before one that is cut before them."""

    last: Record | None = None

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if record.kind == "frameworks.stall":
            if self.last is None or record.fields.get("missing") or not self.last.fields.get("missing"):
                self.last = record
        elif self.last is not None and not STARTS.isdisjoint(record.signs):
            self.last = None

    def derive(self, _picture: JobState) -> list[Record]:
        """The event that follows from all that was observed."""
        if self.last is None:
            return []
        missing, sides = self.last.fields.get("missing"), self.last.fields.get("sides")
        ranks = tuple(r for r in missing if isinstance(r, int)) if isinstance(missing, tuple) else ()
        work = str(self.last.fields.get("stalled_ops", "")).partition(",")[0]
        if len(ranks) > 1 and isinstance(sides, int) and sides > 1:
            return [derived("collective_mismatch", self.last, {"op": work, "ranks": ranks})]
        return [derived("stalled", self.last, {"late": ranks, "work": f"{work or 'a tensor'} not submitted"})]

"""Ranks for which Horovod waits.

Derived records (format ``ledger``, each on the line of the stall):

- ``ledger.stalled``              the other ranks wait for a few: late, work
- ``ledger.collective_mismatch``  ranks wait for each other: op, ranks
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from logdoctor.model import Record
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import starts_workers


class Detector(Struct):
    """The last stall of the last attempt.

    A stall that names ranks is not replaced by a stall that is cut before them.
    """

    READS: ClassVar = ("waits", "starts", "starts again")

    last: Record | None = None

    def observe(self, record: Record) -> None:
        if record.has("waits", "group"):
            if self.last is None or record.fields.get("missing") or not self.last.fields.get("missing"):
                self.last = record
        elif self.last is not None and starts_workers(record):
            self.last = None

    def derive(self, _state: JobState) -> list[Record]:
        if self.last is None:
            return []
        missing, sides = self.last.fields.get("missing"), self.last.fields.get("sides")
        ranks = tuple(r for r in missing if isinstance(r, int)) if isinstance(missing, tuple) else ()
        work = str(self.last.fields.get("stalled_ops", "")).partition(",")[0]
        if len(ranks) > 1 and isinstance(sides, int) and sides > 1:
            return [derive_record("collective_mismatch", self.last, op=work, ranks=ranks)]
        return [derive_record("stalled", self.last, late=ranks, work=f"{work or 'a tensor'} not submitted")]

"""The ledger of excess: more processes came to torch's store than the world has.

Derived event (dialect ``ledger``; it stands on the first line that says so):

- ``ledger.world_exceeded``  rank (who says it), world, joined
"""

from __future__ import annotations

from msgspec import Struct

from logdoctor.model import Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.job_state import JobState

_BARRIER = later(
    r"(?:for|on) rank:? (?P<rank>\d{1,7})\b[^\n]{0,200}?world_size=(?P<world>\d{1,7}), "
    r"(?:worker_count|num_workers_joined)=(?P<joined>\d{1,7})"
)


class Detector(Struct):
    """Keeps the first line of a barrier to which too many came."""

    line: Record | None = None
    told: dict[str, int] = {}

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if self.line is None and "store based barrier" in record.text and (hit := _BARRIER.search(record.text)):
            told = {name: int(number) for name, number in hit.groupdict().items()}
            if told["joined"] > told["world"]:
                self.line, self.told = record, told

    def derive(self, _picture: JobState) -> list[Record]:
        """The event that follows from all that was observed."""
        return [derived("world_exceeded", self.line, self.told)] if self.line is not None else []

"""More processes at torch's store than the world size.

Derived record (format ``ledger``, on the first line that says so):

- ``ledger.world_exceeded``  rank (the rank that prints it), world, joined
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from logdoctor.model import Record
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState

_BARRIER = later(
    r"(?:for|on) rank:? (?P<rank>\d{1,7})\b[^\n]{0,200}?world_size=(?P<world>\d{1,7}), "
    r"(?:worker_count|num_workers_joined)=(?P<joined>\d{1,7})"
)


class Detector(Struct):
    """First line of a barrier with too many processes."""

    READS: ClassVar = ()
    PHRASES: ClassVar = ("store based barrier",)

    line: Record | None = None
    numbers: dict[str, int] = {}

    def observe(self, record: Record) -> None:
        if self.line is None and "store based barrier" in record.text and (match := _BARRIER.search(record.text)):
            numbers = number_fields(match.groupdict())
            if len(numbers) == 3 and numbers["joined"] > numbers["world"]:
                self.line, self.numbers = record, numbers

    def derive(self, _state: JobState) -> list[Record]:
        return [derive_record("world_exceeded", self.line, self.numbers)] if self.line is not None else []

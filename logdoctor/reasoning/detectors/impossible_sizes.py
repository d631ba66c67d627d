"""Sizes that no machine can give: a negative number without its sign, or a shape that grew by mistake.

Derived record (format ``ledger``, on each line that names such a size):

- ``ledger.impossible_size``  wanted (as printed), why (``overflow`` or ``too large``)
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState

_SIZE = later(
    r"(?i)(?:allocate|allocation of|malloc(?:\(size=)?|requested|request(?:ed)? of|mmap|reserve)\b[ :=(]{0,3}"
    r"(?P<number>-?\d{1,22}(?:\.\d{1,6})?) ?(?P<unit>bytes|B|[KMGTPE]i?B)\b"
)
_FACTORS = {"B": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
TOO_LARGE = 1 << 45
"""32 TiB.  No host of a cluster has so much memory today."""
OVERFLOW = 1 << 63
SEARCHED = 2000
MAX_FOUND = 64


class Detector(Struct):
    """First records that are derived from lines with an impossible size."""

    READS: ClassVar = ("failing",)

    found: list[Record] = field(default_factory=list)

    def observe(self, record: Record) -> None:
        if len(self.found) >= MAX_FOUND or not record.failing:
            return
        match = _SIZE.search(record.text[:SEARCHED])
        if match is None:
            return
        unit = match["unit"][0].upper()
        size = float(match["number"]) * 1024 ** _FACTORS[unit]
        if size < 0 or size >= TOO_LARGE:
            why = "overflow" if size < 0 or size >= OVERFLOW else "too large"
            wanted = f"{match['number']} {match['unit']}"
            self.found.append(derive_record("impossible_size", record, wanted=wanted, why=why))

    def derive(self, _state: JobState) -> list[Record]:
        return self.found

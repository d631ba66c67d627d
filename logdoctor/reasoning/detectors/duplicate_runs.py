"""The ledger of choruses: processes that each do the whole work alone, and so tell the same results.

Derived event (dialect ``ledger``; it stands on the first line that they all told):

- ``ledger.told_alike``  several processes told the same step with the same result: voices (how many), unit, step

The ranks of one job agree on a result as well; only where each says that it is alone does this mean something, so a
rule asks for both.  Where nobody knows who speaks, lines that come twice are one process that prints to two places,
and lines that come again later are one run after the other: three must tell it in a row, or before the work is two
steps on.
"""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.job_state import JobState

FEWEST = 3
FEWEST_RANKS = 2
STEPS_ON = 2
MAX_RANKS = 4096
_RESULT = later(r"\d\.\d{3}|\de[-+]\d")
"""A number that chance does not make twice: a loss, a residual."""


class Detector(Struct):
    """Counts who tells the first result, and how often one is told in a row."""

    first: Record | None = None
    told: int = 0
    ranks: set[int] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    """Other results told since, up to the second."""
    last: str = ""
    row: int = 0
    longest: int = 0

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if record.kind != "progress.step" or not _RESULT.search(record.text):
            return
        self.first = self.first or record
        self.row = self.row + 1 if record.text == self.last else 1
        self.last, self.longest = record.text, max(self.longest, self.row)
        if record.text != self.first.text:
            if len(self.others) < STEPS_ON:
                self.others.add(record.text)
            return
        if len(self.others) < STEPS_ON:
            self.told += 1
        if record.rank is not None and len(self.ranks) < MAX_RANKS:
            self.ranks.add(record.rank)

    def derive(self, _picture: JobState) -> list[Record]:
        """The event that follows from all that was observed."""
        voices = len(self.ranks) if self.ranks else max(self.told, self.longest)
        if self.first is None or voices < (FEWEST_RANKS if self.ranks else FEWEST):
            return []
        first = self.first
        told: dict[str, Value] = {"voices": voices}
        told |= {name: first.fields[known] for name, known in _NAMES if known in first.fields}
        return [derived("told_alike", first, told, level="info")]


_NAMES = (("unit", "unit"), ("step", "value"))

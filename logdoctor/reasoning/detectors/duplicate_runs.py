"""Processes that each do the whole work alone and print the same results.

Derived record (format ``ledger``, on the first line with the result):

- ``ledger.told_alike``  several processes printed the same step with the same result: voices (their number), unit,
  step

The ranks of a distributed job print the same result as well. So a rule also asks for lines in which each process says
that it is alone. Without ranks, two equal lines may be a process that prints to two places. Later lines may be another
run. So three equal lines must come in a row, or before two other results.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.model import Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState

MIN_REPEATS = 3
MIN_RANKS = 2
MAX_OTHER_RESULTS = 2
MAX_RANKS = 4096
_RESULT = later(r"\d\.\d{3}|\de[-+]\d")
"""Number with so many digits that equal values are no chance, such as a loss."""


class Detector(Struct):
    """Counts of the first result and of equal results in a row."""

    READS: ClassVar = ("works",)

    first: Record | None = None
    repeats: int = 0
    ranks: set[int] = field(default_factory=set)
    other_results: set[str] = field(default_factory=set)
    """Results that differ from the first, at most two."""
    last_text: str = ""
    run_length: int = 0
    longest_run: int = 0

    def observe(self, record: Record) -> None:
        if not _RESULT.search(record.text):
            return
        self.first = self.first or record
        self.run_length = self.run_length + 1 if record.text == self.last_text else 1
        self.last_text, self.longest_run = record.text, max(self.longest_run, self.run_length)
        if record.text != self.first.text:
            if len(self.other_results) < MAX_OTHER_RESULTS:
                self.other_results.add(record.text)
            return
        if len(self.other_results) < MAX_OTHER_RESULTS:
            self.repeats += 1
        if record.rank is not None and len(self.ranks) < MAX_RANKS:
            self.ranks.add(record.rank)

    def derive(self, _state: JobState) -> list[Record]:
        process_count = len(self.ranks) if self.ranks else max(self.repeats, self.longest_run)
        if self.first is None or process_count < (MIN_RANKS if self.ranks else MIN_REPEATS):
            return []
        unit, step = self.first.fields.get("unit"), self.first.fields.get("value")
        record = derive_record("told_alike", self.first, voices=process_count, unit=unit, step=step)
        return [replace(record, level="info")]

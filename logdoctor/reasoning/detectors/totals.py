"""Ranks that name different sizes of the same job.

Derived record (format ``ledger``, on the line of the first rank that differs):

- ``ledger.totals_differ``  size (that this rank names), others_size, odd (the ranks that name it)

Source: roll calls, and the lines by which a framework joins the group. Lines of one form are compared, because a
program may also number the members of a part of the job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.detectors import forget
from logdoctor.reasoning.job_state import JobState

KINDS = ("program.roll_call", "lightning.rank")
MAX_RANKS = 1 << 16
MAX_FORMS = 16
_VARIES = later(r"(?<= (?:on|at) )[\w.-]+|(?i:host(?:name)?|node|processor)[ :=]{1,3}[\w.-]+|\d+")


class Detector(Struct):
    """First line of each rank, by the form of the line and the size that it names."""

    READS: ClassVar = ("starts again", *KINDS)

    calls: dict[str, dict[tuple[int, int], Record]] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        if record.has("starts again"):
            forget(self)
        if record.kind not in KINDS:
            return
        size, rank = record.fields.get("nranks", record.fields.get("world_size")), record.rank
        form = _VARIES.sub("#", record.text[:200])
        if isinstance(size, int) and rank is not None and (form in self.calls or len(self.calls) < MAX_FORMS):
            calls = self.calls.setdefault(form, {})
            if len(calls) < MAX_RANKS:
                calls.setdefault((rank, size), record)

    def derive(self, _state: JobState) -> Iterator[Record]:
        for calls in self.calls.values():
            sizes = Counter(size for _, size in calls)
            if len(sizes) != 2:
                continue
            (usual, _), (odd, _) = sizes.most_common()
            first = next(record for (_, size), record in calls.items() if size == odd)
            ranks = tuple(sorted(rank for rank, size in calls if size == odd))
            yield derive_record("totals_differ", first, size=odd, others_size=usual, odd=ranks)
            return

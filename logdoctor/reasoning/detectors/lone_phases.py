"""A save, an evaluation or other work that one rank alone began, while the others gave up waiting.

Derived record (format ``ledger``, on the line of the work):

- ``ledger.lone_phase``  rank, host, phase, work

It is the last that the rank printed. All ranks printed steps of their own, so that silence means something, and at
least one other rank gave up waiting afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.detectors import forget, says_done
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import printed_after

MAX_RANKS = 4096
MIN_RANKS = 2
PHASES = ("save", "eval", "data", "load", "compile")


class Detector(Struct):
    """Last line of each rank, its last phase, and who gave up waiting."""

    READS: ClassVar = ("starts again", "works", "busy", "gives up", "failing")

    steps: dict[int, Record] = field(default_factory=dict)
    phases: dict[int, Record] = field(default_factory=dict)
    waits: dict[int, Record] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        rank = record.rank
        if record.has("starts again"):
            forget(self)
        elif rank is None or len(self.steps) >= MAX_RANKS:
            return
        elif record.has("works", "process"):
            self.steps[rank] = record
            self.phases.pop(rank, None)
        elif record.has("busy") and record.fields.get("phase") in PHASES:
            if says_done(record):
                self.phases.pop(rank, None)
            else:
                self.phases[rank] = record
        elif record.has("gives up"):
            self.waits.setdefault(rank, record.without_lines())
        elif record.failing:
            self.phases.pop(rank, None)

    def derive(self, state: JobState) -> Iterator[Record]:
        waiting = [record for rank, record in self.waits.items() if rank not in self.phases]
        if len(self.phases) != 1 or len(self.steps) < MIN_RANKS or not waiting:
            return
        ((rank, phase),) = self.phases.items()
        if rank in self.waits or rank not in self.steps or not printed_after(phase, self.steps[rank]):
            return
        if all(state.surely_after(record, phase) for record in waiting):
            host, phase_name = state.places.host_of(phase), str(phase.fields["phase"])
            work = phase.text.strip()[:120]
            yield derive_record("lone_phase", phase, rank=rank, host=host, phase=phase_name, work=work)

"""Connections that NCCL was still trying to open when the log ended.

Derived records (format ``ledger``, each on the last attempt of a process):

- ``ledger.still_trying``  peer (where printed), error, attempt and attempts as NCCL counts them. Without such a count,
  attempt is the number of lines, each of which stands for many attempts.

NCCL prints each attempt as INFO, waits 100 ms longer each time, and goes on. So ranks can join that start minutes
apart. The attempts count only if they are many and the process printed no complete communicator since. Sources: NCCL
2.12 to 2.30 (src/misc/socket.cc, src/os/linux.cc).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.detectors import forget
from logdoctor.reasoning.job_state import JobState

MIN_ATTEMPTS, MIN_LINES, MIN_TIMEOUT_LINES = 10, 3, 2
"""Numbers from which attempts count as many.

After ten attempts NCCL has waited more than five seconds. Before 2.24 it prints only every thousandth attempt, so three
lines are many. An attempt that timed out took the kernel two minutes, so two such lines are many.
"""
MAX_PROCESSES = 4096
SEARCHED = 400
_ATTEMPT = later(r"retry(?:ing)? \(?(?:attempt )?(?P<attempt>\d{1,5})(?:/| of )(?P<attempts>\d{1,5})\b")

Process = tuple[str | None, int | None, str]


class Detector(Struct):
    """Last attempt of each process."""

    READS: ClassVar = ("starts again", "nccl.retry", "comes up")

    last: dict[Process, Record] = field(default_factory=dict)
    lines: dict[Process, int] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        if record.has("starts again"):
            forget(self)
        elif record.has("comes up"):
            if record.fields.get("phase") == "COMPLETE":
                self.last.pop(_process(record), None)
                self.lines.pop(_process(record), None)
        elif (process := _process(record)) in self.last or len(self.last) < MAX_PROCESSES:
            self.last[process] = record.without_lines()
            self.lines[process] = self.lines.get(process, 0) + 1

    def derive(self, state: JobState) -> Iterator[Record]:
        """Return the last attempts that were many and that no communicator followed."""
        for record in state.runs.select_last_run(self.last.values()):
            count = _ATTEMPT.search(record.text[:SEARCHED])
            attempt = (number(count["attempt"]) or 0) if count else self.lines[_process(record)]
            timed_out = "Connection timed out" in record.text[:SEARCHED]
            if attempt < (MIN_ATTEMPTS if count else MIN_TIMEOUT_LINES if timed_out else MIN_LINES):
                continue
            yield derive_record(
                "still_trying",
                record,
                peer=record.fields.get("peer"),
                error=record.fields.get("error"),
                attempt=attempt,
                attempts=number(count["attempts"]) if count else None,
            )


def _process(record: Record) -> Process:
    return record.host, record.pid, record.line.file

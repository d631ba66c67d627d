"""The ledger of retries: a connection that NCCL was still trying to open when the log ended.

Derived events (dialect ``ledger``; each stands on the last attempt of a process):

- ``ledger.still_trying``  peer (where printed), error, attempt and attempts (as NCCL counts them; else attempt is the
  number of lines, each of which stands for many attempts)

NCCL announces each attempt as INFO, waits a little longer each time (100 ms more), and goes on; that is how ranks come
together that start minutes apart.  It says something only if many attempts have failed and the process has said nothing
since of a communicator that is complete.  Sources: NCCL 2.12 to 2.30 (src/misc/socket.cc, src/os/linux.cc).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.job_state import JobState

MANY, MANY_LINES, MANY_MINUTES = 10, 3, 2
"""After so many attempts NCCL has waited more than five seconds; NCCL before 2.24 prints every thousandth only.

An attempt that timed out took the kernel two minutes, so two lines of them are many."""
MAX_PROCESSES = 4096
SEARCHED = 400
_COUNTED = later(r"retry(?:ing)? \(?(?:attempt )?(?P<attempt>\d{1,5})(?:/| of )(?P<attempts>\d{1,5})\b")

Process = tuple[str | None, int | None, str]


class Detector(Struct):
    """Keeps the last attempt of each process; `derive` gives those that nothing followed."""

    last: dict[Process, Record] = field(default_factory=dict)
    lines: dict[Process, int] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if "restart" in record.signs:
            self.last.clear()
            self.lines.clear()
        elif record.kind == "nccl.retry":
            who = _process(record)
            if len(self.last) < MAX_PROCESSES or who in self.last:
                self.last[who] = record.without_lines()
                self.lines[who] = self.lines.get(who, 0) + 1
        elif self.last and record.kind == "nccl.comm_init" and record.fields.get("phase") == "COMPLETE":
            self.last.pop(_process(record), None)
            self.lines.pop(_process(record), None)

    def derive(self, state: JobState) -> Iterator[Record]:
        """The attempts that were many and the last word of their process."""
        for record in state.runs.select_last_run(self.last.values()):
            counted = _COUNTED.search(record.text[:SEARCHED])
            attempt = int(counted["attempt"]) if counted else self.lines[_process(record)]
            timed_out = "Connection timed out" in record.text[:SEARCHED]
            if attempt < (MANY if counted else MANY_MINUTES if timed_out else MANY_LINES):
                continue
            fields: dict[str, Value] = {
                name: record.fields[name] for name in ("peer", "error") if name in record.fields
            }
            fields["attempt"] = attempt
            if counted:
                fields["attempts"] = int(counted["attempts"])
            yield derived("still_trying", record, fields)


def _process(record: Record) -> Process:
    return record.host, record.pid, record.line.file

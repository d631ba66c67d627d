"""Loops that had come to their end when a rank began to wait."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.model import Record
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.lives import waited
from logdoctor.reasoning.questions import asks, first_of_each, says_done
from logdoctor.reasoning.timeline import Timeline

MAX_LINES = 60
"""Lines between the end of a loop and the time-out that follows from it."""
MIN_STEPS = 2
OF_EACH_RANK = ("load", "compile", "resume")
"""Phases that each rank goes through for itself, and after which all work on."""


@asks("tells call", "waits")
def ended_loop(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.loop_ended`` for a time-out whose last sign of work is a loop at its end: loop, steps.

    It stands on the line of the first time-out of a file. What follows a loop is often the work of one rank.
    """
    timeouts = first_of_each(
        (e for e in t.of("tells call", "waits") if e.level != "info" and waited(e)), lambda e: e.line.file
    )
    for file, end in timeouts.items():
        busy = state.lives.activity.get(file)
        if busy is not None and 0 < end.line.number - busy.line.number <= MAX_LINES and _is_over(busy):
            name, is_named, _ = busy.text.partition(": 100")
            loop = str(busy.fields.get("what") or (name if is_named else ""))[:80]
            yield derive_record("loop_ended", end, loop=loop, steps=busy.fields.get("total"))


def _is_over(busy: Record) -> bool:
    if busy.fields.get("phase") in OF_EACH_RANK:
        return False
    value, total = busy.fields.get("value"), busy.fields.get("total")
    if isinstance(value, int) and isinstance(total, int):
        return value == total >= MIN_STEPS
    return busy.has("busy") and says_done(busy) and busy.text.rstrip().endswith("%")

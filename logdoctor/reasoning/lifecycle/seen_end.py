"""The line that shows a good end, and signs that a job lived.

A good end is never derived from silence. A line must tell it, and no work may follow that line.
"""

from __future__ import annotations

from collections.abc import Callable

from logdoctor.model import Record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.good_ends import is_last_of_count

LINES_BELOW = 40
"""Lines that a program may print after its last step."""


def find_good_end(state: JobState, in_run: Callable[[Record], bool]) -> Record | None:
    """Return the record that shows that the job, or the run, ended well."""
    told = next((end for end in reversed(state.good_ends.told) if in_run(end)), None)
    if told is not None and (state.runs.is_in_report_header(told) or not _is_followed_by_work(told, state)):
        return told  # a report above the output of its job was written last
    step = state.good_ends.finished
    if step is None or not in_run(step) or not state.good_ends.counters.are_complete(step):
        return None
    return step if state.lines_after(step) <= LINES_BELOW else None


def _is_followed_by_work(end: Record, state: JobState) -> bool:
    failed = state.good_ends.job_failed
    steps = (step for step in state.last_steps().values() if not is_last_of_count(step))  # a full bar is drawn again
    return any(state.surely_after(record, end) for record in (*steps, *([failed] if failed else [])))


def is_alive(state: JobState) -> bool:
    """Return whether the job was seen to start or to work."""
    ends = state.good_ends
    return bool(
        state.steps
        or state.phases
        or state.started
        or state.places.ranks
        or state.places.expected
        or state.launcher
        or state.environment
        or ends.told
        or ends.scored
        or ends.greetings.complete
    )

"""The line that shows a good end, and signs that a job lived.

A good end is never derived from silence. A line must tell it, and no work may follow that line.  A full count of steps
tells it only together with what the program, or a library, does afterwards. If nothing failed, it is enough that the
program worked and has ended: the log ends with a prompt, the times of a command or a result.
"""

from __future__ import annotations

from collections.abc import Callable

from logdoctor.model import Record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.lives import MAX_GOOD_ENDS, Lifecycle, Lives
from logdoctor.reasoning.processes import process_of
from logdoctor.reasoning.steps import is_last_of_count

COUNT = "progress.counted"
LINES_BELOW = 40
"""Lines that a program may print after its last step."""


def find_good_end(
    state: JobState, in_run: Callable[[Record], bool], has_heartbeat: Callable[[], bool] = lambda: False
) -> Record | None:
    """Return the record that shows that the job, or the run, ended well."""
    lives = state.lives
    told = next((end for end in reversed(lives.good_ends) if in_run(end) and _stands(end, state)), None)
    if told is not None and (state.runs.is_in_report_header(told) or not _is_followed_by_work(told, state)):
        return told  # a report above the output of its job was written last
    step = state.steps.final
    if step is not None and in_run(step) and state.steps.are_complete(step):
        return step if lives.lines_after(step) <= LINES_BELOW else None
    closing = _find_closing(state, in_run) or _find_closing_after_count(state, in_run)
    return closing or _find_shown_end(state, in_run, has_heartbeat)


def _find_shown_end(
    state: JobState, in_run: Callable[[Record], bool], has_heartbeat: Callable[[], bool]
) -> Record | None:
    """Return the last line that shows that a program ended in which nothing failed.

    The program must have worked, unless it is a service that says that it closed. No count may say that work is left.
    Tables of results are printed on the way too, so a count must show that none is left.
    """
    lives, step = state.lives, state.steps.last
    end = None if lives.any_failed else lives.find_end()
    if end is None or not in_run(end) or _is_followed_by_work(end, state):
        return None
    if not (end.has("closes", "program") or step or lives.result or lives.greetings or state.phases or has_heartbeat()):
        return None
    is_result = end.tells("result")
    over = step is None or (state.steps.are_complete(step) if is_result else not state.steps.has_more(step))
    return end if over else None


def _find_closing_after_count(state: JobState, in_run: Callable[[Record], bool]) -> Record | None:
    """Return the line by which a library closed the last member of a job that had counted no fault of its work.

    The count alone tells no end, because a program may check its work in the middle.
    """
    told, members = state.lives.closings.get(COUNT, {}), state.processes.expected or 1
    if None not in told or members == 1 or not in_run(told[None]):
        return None
    for kind, closings in state.lives.closings.items():
        closed = [record for record in closings.values() if kind != COUNT and state.surely_after(record, told[None])]
        if len(closings) >= members and closed:
            return max(closed, key=lambda record: record.order)
    return None


def _find_closing(state: JobState, in_run: Callable[[Record], bool]) -> Record | None:
    """Return the line by which a library closed all processes, or the program, in order after the last step.

    The last step must be the last of its count. Neither proves a good end alone: a bar is full after each epoch, and
    a library also closes after an exception. A program that says "done" itself may print only some of its steps.
    """
    last = state.steps.last
    if last is None or not in_run(last):
        return None
    is_full = state.steps.is_at_end(last)
    for closings in state.lives.closings.values():
        closed = {key: record for key, record in closings.items() if record.order > last.order}
        said = None in closed and state.steps.may_end_after(last)
        if said or (is_full and len(closed) >= (state.processes.expected or 1)):
            return max(closed.values(), key=lambda record: record.order)
    return None


def _stands(end: Record, state: JobState) -> bool:
    """Return whether nothing speaks against a told end.

    A launcher must tell the end of as many processes as the job has. Where processes tell it themselves, each rank that
    took part must do so, and say nothing more.
    """
    lives = state.lives
    if end.has("ends well", "named"):
        ends = {(e.host, e.pid) for e in lives.good_ends if e.has("ends well", "named")}
        return len(ends) >= min(state.processes.expected or 1, MAX_GOOD_ENDS)
    return not end.has("ends well", "process") or _all_ended_well(end, lives)


def _all_ended_well(end: Record, lives: Lives) -> bool:
    heard = {key: life for key, life in lives.processes.items() if life.last is not None}
    if not all(life.well for key, life in heard.items() if isinstance(key, int) and _took_part(life, lives)):
        return False
    life = heard.get(process_of(end))
    return life is None or life.last is None or life.last.order <= end.order


def _took_part(life: Lifecycle, lives: Lives) -> bool:
    """Return whether a rank printed anything since the work began.

    Often one rank speaks for all. Of the others only a roll call or a launcher's map is printed, at the start.
    """
    start = lives.steps.first
    return start is None or life.last is None or life.last.order >= start.order


def _is_followed_by_work(end: Record, state: JobState) -> bool:
    failed = state.lives.job_failed
    steps = (step for step in state.steps.by_rank().values() if not is_last_of_count(step))  # a full bar is drawn again
    return any(state.surely_after(record, end) for record in (*steps, *([failed] if failed else [])))


def is_alive(state: JobState) -> bool:
    """Return whether the job was seen to start or to work."""
    lives = state.lives
    return bool(
        lives.seen
        or state.phases
        or state.processes.ranks
        or state.processes.expected
        or state.launcher
        or state.environment
        or lives.good_ends
        or lives.has_program_records
    )

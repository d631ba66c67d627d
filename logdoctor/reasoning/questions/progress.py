"""Ranks that stopped before the others, and jobs that stood still.

Where ranks print their own steps, synchronous training keeps them within one interval of each other. One interval is no
evidence, because a killed process loses its output buffers. So a rank counts as behind if it is two intervals
back. One interval suffices if the rank began a phase after its last step, or was silent long before the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import elapsed, printed_after
from logdoctor.reasoning.processes import Process, process_of
from logdoctor.reasoning.questions import asks, ranks_and_hosts, says_done
from logdoctor.reasoning.steps import intervals_behind, place_of, usual_gap
from logdoctor.reasoning.timeline import Timeline

MIN_COUNT = 3
MIN_RANKS_PER_LAGGARD = 4
"""At most one in this many ranks may be behind, but always one."""
MIN_SILENT_STEPS = 5
"""Time of this many steps without a line, before the others' last step, means that a rank stopped first."""
MIN_IDLE_SECONDS = 1800.0
MIN_IDLE_GAPS = 5
"""An idle job is silent for this many times its longest time between two steps."""
MIN_STILL_STEPS, MIN_STILL_GAPS = 20, 2
"""A job that prints nothing stands still after so many usual steps and longest times between two steps."""
STAMP = 1.0
"""Seconds by which a stamp may err, because most stamps have no fraction."""
MAX_LINES_BETWEEN = 3
ZONE_STEP = 900.0
"""Seconds. Clocks of different time zones differ by multiples of it."""
ZONE_SLACK = 50.0
RECKONED_SLACK = 300.0
"""Seconds by which a reckoned time may err. A zone may then explain it."""
RECKONED_ROUND = 1800
HOUR, MINUTES_OF_HOUR = 3600.0, 60
LIMITS = frozenset({"time limit", "TimeLimit", "TIMEOUT"})
"""Reasons and states of a job that ran as long as it may."""
_OFFSET = later(r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)\b")

Steps = Sequence[Record]
"""The latest steps of a process in one loop, each at another place than the one before."""


@asks("busy")
def stopped_first(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.stopped_first`` for one or few ranks that made their last step clearly before the others.

    The fields are late, late_hosts, rank (if it is a single rank), unit, step (the last), others_step, behind (in
    intervals of the rank), phase (if the rank began a phase after its last step), work, certain. The field ``certain``
    is ``no`` if the rank's log is a file of its own that ends there. Such a log may have been cut.
    """
    loops = state.steps.loops(t.holds) if state.lives.program.well is None else {}
    if not loops:
        return
    unit, _ = loop = max(loops, key=lambda name: (len(loops[name]), name))
    steps_of = {process: steps for process, steps in loops[loop].items() if len(steps) >= MIN_COUNT}
    counts_anew = any(place_of(b) < place_of(a) for steps in steps_of.values() for a, b in pairwise(steps))
    if len(steps_of) < MIN_COUNT or counts_anew:  # without an epoch, places cannot be compared
        return
    phases = {process: e for e in t.of("busy") if (process := process_of(e)) in steps_of}
    open_phases = {process: e for process, e in phases.items() if _is_open(e, steps_of[process][-1])}
    behind = _behind(steps_of, open_phases)
    if not behind:
        return
    slowest = min(behind, key=lambda p: (place_of(steps_of[p][-1]), steps_of[p][-1].order))
    steps, ahead = steps_of[slowest], [s for p, s in steps_of.items() if p not in behind]
    late = ranks_and_hosts("late", (steps_of[p][-1] for p in behind), state)
    ranks, other = late["late"], min((s[-1] for s in ahead), key=place_of)
    phase = open_phases.get(slowest)
    yield derive_record(
        "stopped_first",
        phase or steps[-1],
        **late,
        rank=ranks[0] if isinstance(ranks, tuple) and len(ranks) == 1 else None,
        unit=unit,
        step=steps[-1].fields["value"],
        others_step=other.fields["value"],
        behind=intervals_behind(steps, place_of(other)),
        certain="yes" if all(_log_continues(steps_of[p][-1], ahead, state) for p in behind) else "no",
        phase=str(phase.fields.get("phase", "")) if phase else None,
        work=phase.text.strip()[:120] if phase else None,
    )


def _is_open(phase: Record, last_step: Record) -> bool:
    """Return whether a process began the phase after its last step and did not end it."""
    return printed_after(phase, last_step) and not says_done(phase)


def _behind(steps_of: Mapping[Process, Steps], open_phases: Mapping[Process, Record]) -> list[Process]:
    """Return the processes that stopped clearly before all others.

    The others must be within one interval of the highest place.
    """
    places = sorted(place_of(steps[-1]) for steps in steps_of.values())
    behind = [p for p, steps in steps_of.items() if place_of(steps[-1]) < places[len(places) // 2]]
    ahead = {p: steps for p, steps in steps_of.items() if p not in behind}
    if not behind or len(behind) > max(1, len(steps_of) // MIN_RANKS_PER_LAGGARD):
        return []
    if any(intervals_behind(steps, places[-1]) > 1 for steps in ahead.values()):
        return []
    others_work = not open_phases.keys().isdisjoint(ahead)
    alone = [p for p in behind if p in open_phases and not others_work]
    is_clear = all(p in alone or _is_clearly_behind(steps_of[p], [*ahead.values()]) for p in behind)
    return behind if is_clear else []


def _is_clearly_behind(steps: Steps, ahead: Sequence[Steps]) -> bool:
    if intervals_behind(steps, min(place_of(s[-1]) for s in ahead)) >= 2:
        return True
    seconds, last = usual_gap(steps), steps[-1].time
    times = [time for s in ahead if (time := s[-1].time) is not None]
    if seconds is None or last is None or len(times) < len(ahead):
        return False
    return min(times) - last > MIN_SILENT_STEPS * max(seconds, 1.0)


def _log_continues(last: Record, ahead: Sequence[Steps], state: JobState) -> bool:
    """Return whether the log surely continues after the last step.

    It does if the process printed more lines, or if the other ranks print into the same file.
    """
    life = state.lives.processes.get(process_of(last))
    spoke = life is not None and life.last is not None and printed_after(life.last, last)
    return spoke or all(s[-1].line.file == last.line.file for s in ahead)


@asks("works", "busy", "starts", "starts again", "tells reason", "is ended", "tells stack")
def stood_still(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.stood_still`` if the job had printed no progress for long when it was ended.

    It stands on the order to end it: idle_s, hours, minutes and seconds (the parts of it to tell), unit, step, phase,
    looked (``yes``: somebody took stacks meanwhile), limit (``yes``: its time limit ended it, and not a person or the
    batch system), mpi (the MPI library of a job without a framework), reckoned (``yes``: the steps have no time, and
    idle_s is rounded down from their ``eta``).
    """
    steps = [e for e in t.of("works") if e.has("works", "process")]
    limit = next(filter(_is_limit, t.of("tells reason")), None)
    order = limit or next((e for e in t.of("is ended") if _is_order(e)), None)
    lives = state.lives
    if len(steps) < MIN_COUNT or order is None or order.time is None or lives.program.well or lives.result:
        return
    if limit is None and lives.anyone_waited:
        return
    last = steps[-1]
    phase = next((e for e in reversed(t.of("busy")) if e.order > last.order), None)
    has_stacks = any(e.order > last.order and not e.reports_own_end for e in t.of("tells stack"))
    last_sign = phase or last
    measured = elapsed(last_sign, order)
    if measured is not None:
        is_still = measured >= _bearable(last_sign, order, last, t, state, looked=has_stacks)
        idle = measured if is_still and not _is_zone(measured, last_sign, order, t) else 0.0
    else:
        idle = 0.0 if phase is not None else _reckon_idle(steps, order.time, t, state)
    if idle:
        yield derive_record(
            "stood_still",
            order,
            idle_s=int(idle),
            **_parts(int(idle)),
            unit=str(last.fields.get("unit", "")),
            step=last.fields.get("value"),
            phase=str(phase.fields.get("phase", "")) if phase and not says_done(phase) else None,
            looked="yes" if has_stacks else None,
            limit="yes" if limit else None,
            mpi=None if state.tools["framework"] else next(iter(state.tools["mpi"]), None),
            reckoned="yes" if measured is None else "no",
        )


def _is_limit(record: Record) -> bool:
    told = {record.fields.get("reason"), record.fields.get("state")}
    return record.tells("time limit") or not LIMITS.isdisjoint(told)


def _is_order(record: Record) -> bool:
    """Return whether a person or the batch system orders to end the job."""
    return any(s.mark == "is ended" and s.of == "job" and s.by != "launcher" for s in record.signs)


def _parts(seconds: int) -> dict[str, Value | None]:
    """Return hours and minutes, minutes and seconds, or a few seconds."""
    minutes, rest = divmod(seconds, 60)
    if minutes < MIN_COUNT:
        return {"seconds": seconds}
    if minutes < MINUTES_OF_HOUR:
        return {"minutes": minutes, "seconds": rest or None}
    return {"hours": minutes // MINUTES_OF_HOUR, "minutes": minutes % MINUTES_OF_HOUR}


def _reckon_idle(steps: Steps, end: float, t: Timeline, state: JobState) -> float:
    """Return the seconds without progress of a job whose steps print no time, 0.0 if they are not known.

    The job had no more to do since its last line with a time than this one loop, and the loop tells its speed.
    """
    took = _seconds_of_loop(steps)
    times = [e.time for e in t.of("works", "busy", "starts", "starts again") if e.time is not None]
    if took is None or not times:
        return 0.0
    idle = end - max(times) - took
    if idle < max(MIN_IDLE_SECONDS, took) or _is_near_multiple(idle, HOUR, RECKONED_SLACK):
        return 0.0
    if state.lives.lines_after(steps[-1]) > max(MAX_LINES_BETWEEN, steps[-1].line.number - steps[-2].line.number):
        return 0.0
    return idle // RECKONED_ROUND * RECKONED_ROUND


def _seconds_of_loop(steps: Steps) -> float | None:
    """Return the time that one loop took to its last step, reckoned from the time that it said it still needs.

    The result is None if the steps are not those of one loop that counts to a total.
    """
    counts = [(e.fields.get("value"), e.fields.get("total")) for e in steps]
    values = [value for value, total in counts if isinstance(value, int) and isinstance(total, int)]
    is_one = len(values) == len(steps) and len({*map(_loop_of, steps)}) == 1
    if not is_one or any(later <= earlier for earlier, later in pairwise(values)):
        return None
    (value, total), eta = counts[-1], steps[-1].fields.get("eta_s")
    if not (isinstance(value, int) and isinstance(total, int) and isinstance(eta, int)) or value >= total:
        return None
    return eta / (total - value) * value


def _loop_of(step: Record) -> tuple[object, ...]:
    return step.line.file, step.fields.get("unit"), step.fields.get("total"), step.fields.get("what")


def _bearable(last_sign: Record, order: Record, last: Record, t: Timeline, state: JobState, *, looked: bool) -> float:
    """Return the seconds without progress that this job may need.

    A job that printed nothing at all is measured by its own rhythm, whatever the length of its steps.
    """
    work = state.steps.works.get(process_of(last))
    rhythm = usual_gap(work.latest) if work is not None else None
    between = (
        order.line.number - last_sign.line.number - last_sign.span
        if order.line.file == last_sign.line.file
        else state.lives.lines_after(last_sign)
    )
    if work is None or rhythm is None or (between > MAX_LINES_BETWEEN and not looked):
        return max(MIN_IDLE_SECONDS, MIN_IDLE_GAPS * t.longest_silence("works"))
    return max(MIN_STILL_STEPS * max(rhythm, STAMP), MIN_STILL_GAPS * work.longest_step)


def _is_zone(seconds: float, last_sign: Record, order: Record, t: Timeline) -> bool:
    """Return whether two time zones explain a silence.

    Another line must show that the clocks differ: one of two stamps tells its offset, or a time goes back in a file.
    """
    if not _is_near_multiple(seconds, ZONE_STEP, ZONE_SLACK):
        return False
    if (_OFFSET.search(last_sign.line.text) is None) != (_OFFSET.search(order.line.text) is None):
        return True
    timed = [e for e in t.of("works", "busy", "starts", "starts again", "is ended") if e.time is not None]
    back = (elapsed(b, a) for a, b in pairwise(timed) if a.line.file == b.line.file)
    return any(s is not None and s > ZONE_SLACK and _is_near_multiple(s, ZONE_STEP, ZONE_SLACK) for s in back)


def _is_near_multiple(seconds: float, step: float, slack: float) -> bool:
    remainder = seconds % step
    return min(remainder, step - remainder) < slack

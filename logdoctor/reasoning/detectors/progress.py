"""Ranks that stopped before the others, and jobs that stood still.

Derived records (format ``ledger``, each on a log line that shows it):

- ``ledger.stopped_first``  one or few ranks made their last step clearly before the others made theirs: late,
  late_hosts, rank (if it is a single rank), unit, step (the last), others_step, behind (in intervals of the rank),
  phase (if the rank began a phase after its last step), work, certain. The field ``certain`` is ``no`` if the rank's
  log is a file of its own that ends there. Such a log may have been cut.
- ``ledger.stood_still``    the job had printed no progress for long when it was ended: idle_s, idle (as text; rounded
  down if it is reckoned from the ``eta`` of steps without a time), unit, step, phase, looked (``yes``: somebody took
  stacks meanwhile), by (``limit``: its time limit ended it, ``order``: a person or the batch system did)

Where ranks print their own steps, synchronous training keeps them within one interval of each other. One interval is no
evidence, because a killed process loses its output buffers. So a rank counts as behind if it is two intervals
back. One interval suffices if the rank began a phase after its last step, or was silent long before the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.detectors import ranks_and_hosts, says_done
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import starts_workers
from logdoctor.reasoning.lifecycle.clocks import printed_after
from logdoctor.reasoning.processes import process_of
from logdoctor.reasoning.steps import usual_gap

MIN_COUNT = 3
MIN_RANKS_PER_LAGGARD = 4
"""At most one in this many ranks may be behind, but always one."""
MIN_SILENT_STEPS = 5
"""Time of this many steps without a line, before the others' last step, means that a rank stopped first."""
MAX_RANKS = 4096
MAX_SERIES = 4
MIN_IDLE_SECONDS = 1800.0
MIN_IDLE_GAPS = 5
"""An idle job is silent for this many times its longest time between two steps."""
MIN_STILL_SECONDS, MIN_STILL_STEPS, MIN_STILL_GAPS = 60.0, 20, 2
"""A job that prints nothing stands still after so many seconds, usual steps and longest times between two steps."""
MAX_LINES_BETWEEN = 3
ZONE_STEP = 900.0
"""Seconds. Clocks of different time zones differ by multiples of it."""
ZONE_SLACK = 50.0
RECKONED_SLACK = 300.0
"""Seconds by which a reckoned time may err. A zone may then explain it."""
RECKONED_ROUND = 1800
HOUR = 3600.0
_EPOCH = later(r"(?i)\bepoch\W{0,3}(\d{1,7})")
_DIGITS = later(r"\d+")
_LIMIT = later(r"(?i)time ?limit|TIMEOUT|walltime|RUNLIMIT|deadline")

Series = tuple[str, str]
ProcessKey = int | tuple[str, int]
"""Rank, or host and pid where no rank is printed."""


class RankSteps(Struct):
    """Last two steps of a rank in a series, and their number."""

    last: Record
    place: tuple[int, int]
    previous_place: tuple[int, int] | None = None
    start_time: float | None = None
    count: int = 1
    counter_restarted: bool = False
    """True if the counter restarted without an epoch, so that places cannot be compared."""

    def add(self, record: Record, place: tuple[int, int]) -> None:
        if place == self.place:
            self.last = record
            return
        self.counter_restarted = self.counter_restarted or place < self.place
        self.previous_place, self.place, self.last, self.count = self.place, place, record, self.count + 1

    @property
    def interval(self) -> int:
        """Distance between two steps, 1 if unknown."""
        if self.previous_place is None or self.previous_place[0] != self.place[0]:
            return 1
        return max(1, self.place[1] - self.previous_place[1])

    @property
    def seconds(self) -> float | None:
        """Mean seconds of a step."""
        if self.start_time is None or self.last.time is None or self.count < MIN_COUNT:
            return None
        return max(0.0, self.last.time - self.start_time) / (self.count - 1)


class Loop(Struct):
    """The steps of a job, as long as they are those of one loop that counts to a total."""

    last: Record | None = None
    is_one: bool = True
    lines_apart: int = 0
    """Lines from the step before to the last one."""

    def add(self, step: Record) -> None:
        before, value = self.last, step.fields.get("value")
        self.last = step
        if not isinstance(value, int) or not isinstance(step.fields.get("total"), int):
            self.is_one = False
        elif before is not None and self.is_one:
            earlier = before.fields.get("value")
            self.is_one = isinstance(earlier, int) and value > earlier and _loop_of(step) == _loop_of(before)
            self.lines_apart = step.line.number - before.line.number

    @property
    def seconds(self) -> float | None:
        """Time that the loop took to its last step, reckoned from the time that it said it still needs."""
        if self.last is None or not self.is_one:
            return None
        value, total, eta = (self.last.fields.get(name) for name in ("value", "total", "eta_s"))
        if not (isinstance(value, int) and isinstance(total, int) and isinstance(eta, int)) or value >= total:
            return None
        return eta / (total - value) * value


class Detector(Struct):
    """Collected progress of all ranks."""

    READS: ClassVar = ("works", "busy", "starts", "starts again", "tells reason", "is ended", "tells stack")

    steps_by_series: dict[Series, dict[ProcessKey, RankSteps]] = field(default_factory=dict)
    phases: dict[ProcessKey, Record] = field(default_factory=dict)
    """Last phase of each process."""
    last_step: Record | None = None
    loop: Loop = field(default_factory=Loop)
    time_before: float | None = None
    """Latest time of a step, a phase or a start, so the loop goes on after it or began after it."""
    step_count: int = 0
    longest_gap: float = 0.0
    """Longest time between two steps, in seconds."""
    last_phase: Record | None = None
    time_limit: Record | None = None
    stacks: Record | None = None
    """Last stack dump after the last step, because somebody looked at a hang."""
    order: Record | None = None
    """First order of a person or of the batch system to end the job."""

    def observe(self, record: Record) -> None:
        if record.time is not None and (record.has("works") or record.has("busy") or starts_workers(record)):
            self.time_before = max(record.time, self.time_before or 0.0)
        if record.has("works", "process"):
            self._measure_gap(record)
            self.loop.add(record)
            self.last_step, self.last_phase, self.stacks = record, None, None
            if (process := _process_key(record)) is not None:
                self._read_step(record, process)
        elif record.tells("stack") and not record.reports_own_end:
            self.stacks = record if self.last_step is not None else None
        elif record.has("busy"):
            self.last_phase = record
            process = _process_key(record)
            if process is not None and (process in self.phases or len(self.phases) < MAX_RANKS):
                self.phases[process] = record
        elif starts_workers(record):
            self.steps_by_series.clear()
            self.phases.clear()
        if record.tells("reason") and self.time_limit is None and _LIMIT.search(record.text):
            self.time_limit = record
        elif self.order is None and any(
            s.mark == "is ended" and s.of == "job" and s.by != "launcher" for s in record.signs
        ):
            self.order = record

    def _measure_gap(self, record: Record) -> None:
        self.step_count += 1
        if self.last_step is not None and self.last_step.time is not None and record.time is not None:
            self.longest_gap = max(self.longest_gap, record.time - self.last_step.time)

    def _read_step(self, record: Record, process: ProcessKey) -> None:
        value = record.fields.get("value")
        if not isinstance(value, int):
            return
        series = (str(record.fields.get("unit", "")), _DIGITS.sub("#", str(record.fields.get("what", "")))[:80])
        if series not in self.steps_by_series and len(self.steps_by_series) >= MAX_SERIES:
            return
        by_process = self.steps_by_series.setdefault(series, {})
        place = (_epoch(record), value)
        if process in by_process:
            by_process[process].add(record, place)
        elif len(by_process) < MAX_RANKS:
            by_process[process] = RankSteps(record, place, start_time=record.time)

    def derive(self, state: JobState) -> list[Record]:
        return [*self._stopped_first(state), *self._stood_still(state)]

    def _stopped_first(self, state: JobState) -> list[Record]:
        if not self.steps_by_series or state.lives.program.well is not None:
            return []
        series = max(self.steps_by_series, key=lambda s: (len(self.steps_by_series[s]), s))
        steps_by_process = {p: c for p, c in self.steps_by_series[series].items() if c.count >= MIN_COUNT}
        if len(steps_by_process) < MIN_COUNT or any(c.counter_restarted for c in steps_by_process.values()):
            return []
        behind = self._behind(steps_by_process)
        if not behind:
            return []
        slowest = min(behind, key=lambda p: (steps_by_process[p].place, steps_by_process[p].last.order))
        steps, ahead = steps_by_process[slowest], [c for p, c in steps_by_process.items() if p not in behind]
        late = ranks_and_hosts("late", (steps_by_process[p].last for p in behind), state)
        ranks, others_place = late["late"], min(c.place for c in ahead)
        phase = self._open_phase(slowest, steps)
        record = derive_record(
            "stopped_first",
            phase or steps.last,
            **late,
            rank=ranks[0] if isinstance(ranks, tuple) and len(ranks) == 1 else None,
            unit=series[0],
            step=steps.place[1],
            others_step=others_place[1],
            behind=_intervals_behind(steps, others_place),
            certain="yes" if all(_log_continues(steps_by_process[p], ahead, state) for p in behind) else "no",
            phase=str(phase.fields.get("phase", "")) if phase else None,
            work=phase.text.strip()[:120] if phase else None,
        )
        return [record]

    def _behind(self, steps_by_process: Mapping[ProcessKey, RankSteps]) -> list[ProcessKey]:
        """Return the processes that stopped clearly before all others.

        The others must be within one interval of the highest place.
        """
        places = sorted(c.place for c in steps_by_process.values())
        median = places[len(places) // 2]
        behind = [process for process, c in steps_by_process.items() if c.place < median]
        ahead = [c for process, c in steps_by_process.items() if process not in behind]
        if not behind or len(behind) > max(1, len(steps_by_process) // MIN_RANKS_PER_LAGGARD):
            return []
        if any(_intervals_behind(c, max(places)) > 1 for c in ahead):
            return []
        is_clear = all(self._is_clearly_behind(process, steps_by_process[process], ahead) for process in behind)
        return behind if is_clear else []

    def _is_clearly_behind(self, process: ProcessKey, steps: RankSteps, ahead: list[RankSteps]) -> bool:
        behind = _intervals_behind(steps, min(c.place for c in ahead))
        if behind >= 2:
            return True
        phase = self._open_phase(process, steps)
        if phase is not None and not any(self._open_phase(_process_key(c.last), c) for c in ahead):
            return True
        seconds = steps.seconds
        times = [c.last.time for c in ahead if c.last.time is not None]
        if seconds is None or steps.last.time is None or len(times) < len(ahead):
            return False
        return min(times) - steps.last.time > MIN_SILENT_STEPS * max(seconds, 1.0)

    def _open_phase(self, process: ProcessKey | None, steps: RankSteps) -> Record | None:
        """Return the unfinished phase that a process began after its last step."""
        phase = self.phases.get(process) if process is not None else None
        if phase is None or not printed_after(phase, steps.last) or says_done(phase):
            return None
        return phase

    def _stood_still(self, state: JobState) -> list[Record]:
        last_step, order = self.last_step, self.time_limit or self.order
        if last_step is None or order is None or state.lives.program.well is not None or self.step_count < MIN_COUNT:
            return []
        last_sign = self.last_phase or last_step
        if order.time is None or (order is self.order and state.lives.anyone_waited):
            return []
        if last_sign.time is None:
            idle = self._reckon_idle(last_step, order.time, state)
        else:
            idle = order.time - last_sign.time
            is_zone = _is_near_multiple(idle, ZONE_STEP, ZONE_SLACK)
            idle = 0.0 if is_zone or idle < self._bearable(last_step, last_sign, order, state) else idle
        if not idle:
            return []
        phase = self.last_phase
        record = derive_record(
            "stood_still",
            order,
            idle_s=int(idle),
            idle=_duration(idle),
            unit=str(last_step.fields.get("unit", "")),
            step=last_step.fields.get("value"),
            phase=str(phase.fields.get("phase", "")) if phase and not says_done(phase) else None,
            looked="yes" if self.stacks is not None else None,
            by="limit" if order is self.time_limit else "order",
        )
        return [record]

    def _reckon_idle(self, last_step: Record, end: float, state: JobState) -> float:
        """Return the seconds without progress of a job whose steps print no time, 0.0 if they are not known.

        The job had no more to do since its last line with a time than this one loop, and the loop tells its speed.
        """
        took = self.loop.seconds
        if took is None or self.time_before is None or self.last_phase is not None:
            return 0.0
        idle = end - self.time_before - took
        if idle < max(MIN_IDLE_SECONDS, took) or _is_near_multiple(idle, HOUR, RECKONED_SLACK):
            return 0.0
        if state.lives.lines_after(last_step) > max(MAX_LINES_BETWEEN, self.loop.lines_apart):
            return 0.0
        return idle // RECKONED_ROUND * RECKONED_ROUND

    def _bearable(self, last_step: Record, last_sign: Record, order: Record, state: JobState) -> float:
        """Return the seconds without progress that this job may need.

        A job that printed nothing at all is measured by its own rhythm.
        """
        between = (
            order.line.number - last_sign.line.number - last_sign.span
            if order.line.file == last_sign.line.file
            else state.lives.lines_after(last_sign)
        )
        work = state.steps.works.get(process_of(last_step))
        rhythm = usual_gap(work.latest) if work is not None else None
        if rhythm is None or (between > MAX_LINES_BETWEEN and self.stacks is None):
            return max(MIN_IDLE_SECONDS, MIN_IDLE_GAPS * self.longest_gap)
        return max(MIN_STILL_SECONDS, MIN_STILL_STEPS * rhythm, MIN_STILL_GAPS * self.longest_gap)


def _loop_of(step: Record) -> tuple[object, ...]:
    return step.line.file, step.fields.get("unit"), step.fields.get("total"), step.fields.get("what")


def _is_near_multiple(seconds: float, step: float, slack: float) -> bool:
    remainder = seconds % step
    return min(remainder, step - remainder) < slack


def _log_continues(steps: RankSteps, ahead: list[RankSteps], state: JobState) -> bool:
    """Return whether the log surely continues after the last step.

    It does if the process printed more lines, or if the other ranks print into the same file.
    """
    life = state.lives.processes.get(process_of(steps.last))
    spoke = life is not None and life.last is not None and printed_after(life.last, steps.last)
    return spoke or all(c.last.line.file == steps.last.line.file for c in ahead)


def _process_key(record: Record) -> ProcessKey | None:
    if record.rank is not None:
        return record.rank
    return None if record.pid is None else (record.host or "", record.pid)


def _epoch(record: Record) -> int:
    """Return the epoch of a step, 0 if unknown."""
    epoch = str(record.fields.get("epoch", "")).partition(".")[0]
    match = _EPOCH.search(str(record.fields.get("what", "")))
    return number(epoch[:9]) or number(match[1] if match else None) or 0


def _intervals_behind(steps: RankSteps, place: tuple[int, int]) -> int:
    """Return how many intervals the steps are behind ``place``.

    An earlier epoch counts as two intervals.
    """
    if steps.place[0] != place[0]:
        return 2 if steps.place[0] < place[0] else 0
    return max(0, place[1] - steps.place[1]) // steps.interval


def _duration(seconds: float) -> str:
    minutes = int(seconds) // 60
    if minutes < 3:
        return f"{int(seconds)} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"

"""Lives of the processes, of the program and of the job.

A process is a rank, else a host and pid, else a file.  The program is all its processes together.  The job is the
program as the batch system sees it.  Memory is bounded: of each life its last record, a few ends and its
last steps are kept.
"""

from __future__ import annotations

import itertools
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Literal

from msgspec import Struct, field

from logdoctor.model import LifecycleSign, Mark, Record
from logdoctor.reasoning.lifecycle.attempts import Attempts, is_of_machine
from logdoctor.reasoning.lifecycle.caught_exceptions import CaughtExceptions
from logdoctor.reasoning.lifecycle.clocks import A_YEAR, Clocks, after, elapsed, middle
from logdoctor.reasoning.lifecycle.launchers import NamedEnds, names_an_end
from logdoctor.reasoning.lifecycle.spans import advances
from logdoctor.reasoning.lifecycle.step_counters import Counters
from logdoctor.reasoning.processes import Processes

Key = int | tuple[str, int] | str
"""Rank, host and pid, or file."""

MAX_LIVES = 4096
CALENDAR_END = 253_402_300_800.0
MAX_FILES = 4096
MAX_STEPS, MAX_OLDER_STEPS, MAX_ENDS = 64, 64, 8
ENOUGH_STEPS = 3
"""Number of steps after a failure that show that it was survived."""
MAX_GOOD_ENDS = 64
SIGNS_OF_LIFE: tuple[Mark, ...] = ("starts", "starts again", "comes up", "works")
SIGNALS = range(1, 65)
SIGKILL = 9
ORDERS = frozenset({2, 9, 14, 15})
"""Signals by which a process is ended from outside."""


PLAIN = ("text",)
"""Formats of lines that no other format knows."""


class Work(Struct):
    """Steps of one process: their number and the latest records, the oldest first."""

    count: int = 0
    latest: deque[Record] = field(default_factory=lambda: deque(maxlen=MAX_STEPS))
    older: deque[Record] = field(default_factory=lambda: deque(maxlen=MAX_OLDER_STEPS))
    """Last records of each earlier attempt or job."""

    def add(self, step: Record) -> None:
        self.count += 1
        self.latest.append(step)

    def seconds_per_step(self) -> float | None:
        """Return the median time between two steps, None if fewer than two steps tell it."""
        spans = [_seconds_per_step(*pair) for pair in itertools.pairwise(self.latest)]
        known = [span for span in spans if span is not None]
        return sorted(known)[len(known) // 2] if known else None

    def begin_attempt(self) -> None:
        """Save the last records, because another attempt or job begins."""
        last = self.older[-1].order if self.older else -1
        self.older.extend(e for e in [*self.latest][-ENOUGH_STEPS:] if e.order > last)

    def newest_first(self) -> Iterator[Record]:
        """Yield each kept record once, the latest first."""
        yield from reversed(self.latest)
        first = self.latest[0].order if self.latest else sys.maxsize
        yield from (record for record in reversed(self.older) if record.order < first)

    def after(self, alarm: Record, counts: Callable[[Record], bool]) -> Iterator[Record]:
        """Yield the steps after ``alarm`` that pass ``counts``, the latest first.

        A bar that is drawn again at the same place is no step.
        """
        came_after, place = after(alarm), None
        for step in self.newest_first():
            if came_after(step) and counts(step):
                place, before = _place_of_bar(step), place
                if place is None or place != before:
                    yield step


class Lifecycle(Struct):
    """Life of one process, of the program or of the job."""

    last: Record | None = None
    """Last record that it printed."""
    alarm: Record | None = None
    """First failing record of this attempt."""
    work: Work = field(default_factory=Work)
    ends: list[Record] = field(default_factory=list)
    """Reports of its end, by itself or by others."""
    orders: list[Record] = field(default_factory=list)
    """Orders to end it."""
    well: Record | None = None
    """Last report that it ended well."""

    def add_end(self, record: Record, mark: str) -> None:
        if mark == "ends well" or (mark == "fails" and record.fields.get("exit_code") == 0):
            self.well = record
            return
        reports = self.orders if mark == "is ended" else self.ends
        if len(reports) < MAX_ENDS:
            reports.append(record.without_lines())

    def begin_attempt(self) -> None:
        """Forget how the attempt before was ended, because another attempt or job begins."""
        self.work.begin_attempt()
        self.alarm = None
        self.ends.clear()
        self.orders.clear()

    def failed(self) -> bool:
        """Return whether it ended by a failure, not by an order, and did not go on after that."""
        failure = next((end for end in self.ends if not self._went_on_after(end)), None)
        if failure is None:
            return False
        was_ordered = any(_is_older(order, failure) for order in self.orders)
        return not (was_ordered and signal_of(failure) in ORDERS)

    def _went_on_after(self, end: Record) -> bool:
        return sum(1 for _ in self.work.after(end, lambda _: True)) >= ENOUGH_STEPS


class Lives:
    """All lives of a job, updated record by record."""

    READS = ("all",)

    def __init__(self, places: Processes, attempts: Attempts, clocks: Clocks) -> None:
        self.places, self.attempts, self.clocks = places, attempts, clocks
        self.processes: dict[Key, Lifecycle] = {}
        self.named_ends = NamedEnds(attempts)
        self.unranked_works: list[Work] = []
        """Steps of processes whose lines name no rank."""
        self.program, self.job = Lifecycle(), Lifecycle()
        self.good_ends: deque[Record] = deque(maxlen=MAX_GOOD_ENDS)
        """Last reports of a program or a batch system that it ended well."""
        self.counters = Counters()
        self.closings: dict[str, dict[Hashable, Record]] = {}
        """Last closing of each library since the last step, by its kind and by the process, None for the program."""
        self.job_failed: Record | None = None
        """Last report of a batch system that a job failed."""
        self.records = 0
        self.formats: set[str] = set()
        self.kinds: set[str] = set()
        self._files_of: dict[Literal["machine", "program"], set[str]] = {"machine": set(), "program": set()}
        """Files that hold records of machine or cluster, or of programs."""
        self.seen = False
        """True after a record that only a start or work prints."""
        self.times: dict[bool, tuple[float, float]] = {}
        """Earliest and latest time, keyed by whether the time stamps have a year."""
        self.first_step: Record | None = None
        self.final_step: Record | None = None
        """Last step of all, if its number is the total.  Bars do not count, because any loop may draw one."""
        self.greetings: dict[Hashable, Record] = {}
        """Last greeting of each rank since the program was started last, such as ``Hello from rank 3 of 8``."""
        self.started_at = 0
        """`Record.order` of the last start of the program."""
        self.result: Record | None = None
        """Final result of the program, if no process had ended before."""
        self._any_ended = False
        self.activity: dict[str, Record] = {}
        """Last step or phase in each file before a process there waited in vain."""
        self._waiting: set[str] = set()
        self.caught = CaughtExceptions()
        self.line_counts: Mapping[str, int] = {}
        """Lines of each file, set after the whole log was read."""
        self._calm: dict[str, int] = {}
        """Last `Record.order` of a rank's line in each file, without failures."""
        self._spans = 0
        self._others = Lifecycle()
        """Life of all processes beyond `MAX_LIVES`, which nobody asks for."""

    def observe(self, record: Record) -> None:
        if self.attempts.spans > self._spans:
            self._begin_attempt()
        self.records += 1
        self.formats.add(record.format)
        self.kinds.add(record.kind)
        self._note_file(record)
        if record.has("ends well") or record.fields.get("state") == "COMPLETED":
            self.good_ends.append(record)
        if record.time is not None:
            self._read_time(record, record.time)
        source = record.source
        speaker = self._life(_key(source.rank, source.host, source.pid, record.line.file))
        speaker.last = record.without_lines()
        life = self._life(key_of(record)) if record.signs else speaker
        for sign in record.signs:
            self._read_sign(sign, record, life)
        if names_an_end(record):
            self.named_ends.add(record)
        if record.failing:
            if "waited_ms" in record.fields:
                self._waiting.add(record.line.file)
            speaker.alarm = speaker.alarm or record.without_lines()
            self.caught.add(record)
        elif record.source.rank is not None and (record.line.file in self._calm or len(self._calm) < MAX_FILES):
            # a failure does not count, because ``srun -l`` puts a rank in front of a shell's complaint too
            self._calm[record.line.file] = record.order

    def _note_file(self, record: Record) -> None:
        family = record.format
        files = self._files_of["machine" if is_of_machine(record) else "program"]
        if family not in PLAIN and len(files) < MAX_FILES:
            files.add(record.line.file)

    def _read_time(self, record: Record, time: float) -> None:
        """Extend the time range of the job.

        Records of machine and cluster may lie long before or after it, so they do not count.
        """
        if 0 < time < CALENDAR_END and not is_of_machine(record):
            first, last = self.times.get(time >= A_YEAR, (time, time))
            self.times[time >= A_YEAR] = min(first, time), max(last, time)

    def _life(self, key: Key) -> Lifecycle:
        life = self.processes.get(key)
        if life is None:
            if len(self.processes) >= MAX_LIVES:
                return self._others
            life = self.processes[key] = Lifecycle()
        return life

    def _read_sign(self, sign: LifecycleSign, record: Record, life: Lifecycle) -> None:
        mark, of = sign.mark, sign.of
        self.seen = self.seen or mark in SIGNS_OF_LIFE
        if mark in ("works", "busy"):
            file = record.line.file
            if file not in self._waiting and (file in self.activity or len(self.activity) < MAX_FILES):
                self.activity[file] = record
        elif mark == "waits":
            self._waiting.add(record.line.file)
        elif mark == "starts again" or (mark in ("starts", "comes up") and record.line.file in self._waiting):
            self._waiting.clear()
        if sign.last or "first end" in sign.tells or (of == "named" and mark in ("fails", "is ended")):
            self._any_ended = True  # results and greetings after that come from another program
        if mark == "works":
            self._read_work(of, record, life)
        elif mark == "starts" and of == "program":
            self.greetings.clear()
            self.started_at = record.order
        elif mark == "closes":
            self._read_closing(of, record)
        elif mark in ("ends well", "is ended", "fails", "gives up") and not is_place(record):
            subject = {"job": self.job, "program": self.program, "host": self.program}.get(of, life)
            subject.add_end(record, mark)
            if of == "job" and sign.late and mark != "ends well":
                self.job_failed = record

    def _read_work(self, of: str, record: Record, life: Lifecycle) -> None:
        if of == "program":
            self.result = None if self._any_ended else record
        elif of == "process":
            self._read_step(record, life)
        elif not self._any_ended and len(self.greetings) < MAX_LIVES:
            self.greetings[record.fields.get("value")] = record

    def _read_step(self, record: Record, life: Lifecycle) -> None:
        if not life.work.count and life is not self._others and not isinstance(key_of(record), int):
            self.unranked_works.append(life.work)
        life.work.add(record)
        self.job.work.add(record)
        self.first_step = self.first_step or record
        self.final_step = record if is_final(record) else None
        self.closings.clear()
        self.counters.observe(record)

    def _read_closing(self, of: str, record: Record) -> None:
        closed, key = self.closings.setdefault(record.kind, {}), key_of(record)
        if len(closed) < MAX_LIVES:  # a line of no process speaks for the program
            of_program = of == "program" or isinstance(key, str)
            closed[None if of_program else (key, record.fields.get("group_rank"))] = record

    def _begin_attempt(self) -> None:
        self._spans = self.attempts.spans
        self.counters.begin_attempt()
        self.closings.clear()
        for life in (*self.processes.values(), self.program, self.job):
            life.begin_attempt()

    # ── queries ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def works(self, rank: int | None) -> Iterator[Work]:
        """Yield the steps that may be of ``rank``, or those of all processes."""
        if rank is None:
            yield from self.ranked_works().values()
        elif rank in self.processes:
            yield self.processes[rank].work
        yield from self.unranked_works

    def ranked_works(self) -> dict[int, Work]:
        """Return the steps of each rank that made some."""
        return {key: life.work for key, life in self.processes.items() if isinstance(key, int) and life.work.count}

    @property
    def has_program_records(self) -> bool:
        """True after a record of a library or launcher of a job, which no other program prints."""
        return bool(self._files_of["program"])

    def is_machine_log(self, file: str) -> bool:
        """Return whether a file holds records of machine or cluster only."""
        return file in self._files_of["machine"] and file not in self._files_of["program"]

    @property
    def anyone_waited(self) -> bool:
        """Return whether a process waited for others until its limit in this attempt."""
        return bool(self._waiting)

    @property
    def any_failed(self) -> bool:
        """Return whether a process, the program or the job failed or was ended in this attempt."""
        lives = (*self.processes.values(), self.program, self.job)
        return bool(self.job.orders) or any(life.failed() for life in lives)

    def with_alarm(self) -> set[Key]:
        """Return the processes that printed a failure."""
        return {key for key, life in self.processes.items() if life.alarm is not None}

    def ranks_spoke_after(self, record: Record) -> bool:
        """Return whether ranks printed lines after the record.

        The order of lines in two files is unknown, so each other file counts.
        """
        elsewhere = any(file != record.line.file for file in self._calm)
        return elsewhere or self._calm.get(record.line.file, -1) > record.order

    def lines_after(self, record: Record) -> int:
        """Count the lines behind ``record`` in its file."""
        return self.line_counts.get(record.line.file, 0) - record.line.number

    def surely_after(self, later: Record, earlier: Record) -> bool:
        """Return whether ``later`` surely came after ``earlier``.

        In one file the position decides. Between files the time difference must exceed its possible error.
        """
        if later.line.file == earlier.line.file:
            return later.order > earlier.order
        hosts = self.places.host_of(earlier), self.places.host_of(later)
        seconds, doubt = self.clocks.seconds(earlier, later, hosts)
        return seconds is not None and seconds > doubt


def waited(record: Record) -> bool:
    """Return whether a process waited for others until its limit."""
    return record.has("waits") or "waited_ms" in record.fields


def is_place(record: Record) -> bool:
    """Return whether the record is a stack without an exception: a place, which ends nothing."""
    return record.fields.get("exception") == "" and "frames" in record.fields and record.level != "fatal"


def is_final(step: Record) -> bool:
    """Return whether the number of a step is its total.  Bars do not count."""
    return is_last_of_count(step) and advances(step)


def is_last_of_count(step: Record) -> bool:
    """Return whether the number of a step is its total."""
    value = step.fields.get("value")
    return value is not None and value == step.fields.get("total")


def signal_of(end: Record) -> int | None:
    """Return the signal that ended a process, as told or by the exit code."""
    fields = end.fields
    signal, code = fields.get("signal"), fields.get("exit_code")
    if fields.get("reason") == "oom" or any(s.mark == "is ended" and s.by == "signal" and s.late for s in end.signs):
        return SIGKILL
    if isinstance(signal, int) and signal in SIGNALS:
        return signal
    number = 0 if not isinstance(code, int) else -code if code < 0 else code - 128 if code > 128 else 0
    return number if number in SIGNALS else None


def _seconds_per_step(earlier: Record, later: Record) -> float | None:
    counts = (earlier.fields.get("value"), later.fields.get("value"))
    before, now = (count if isinstance(count, int | float) else 0 for count in counts)
    if earlier.time is None or later.time is None or now <= before or later.time < earlier.time:
        return None
    if earlier.fields.get("unit") != later.fields.get("unit"):
        return None
    return (later.time - earlier.time) / (now - before)


def usual_gap(steps: deque[Record]) -> float | None:
    """Return the median of the seconds between steps, None without stamps."""
    times = [step.time for step in steps if step.time is not None]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times) if later >= earlier]
    return middle(gaps) if gaps else None


def key_of(record: Record) -> Key:
    """Return the key of the process that the record is about."""
    return _key(record.rank, record.host, record.pid, record.line.file)


def _key(rank: int | None, host: str | None, pid: int | None, file: str) -> Key:
    if rank is not None:
        return rank
    return (host or "", pid) if pid is not None else file


def _is_older(order: Record, end: Record) -> bool:
    seconds = elapsed(order, end)
    return order.order < end.order if seconds is None else seconds > 0


def _place_of_bar(step: Record) -> tuple[object, ...] | None:
    """Return the place of an unfinished bar.  Return None for any other step."""
    fields = step.fields
    value, total = fields.get("value"), fields.get("total")
    return None if value == total or advances(step) else (value, total, fields.get("what"), step.rank)

"""Lives of the processes, of the program and of the job.

The program is all its processes together.  The job is the program as the batch system sees it.  Memory is bounded: of
each life its last record, its first failures and a few ends are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from typing import Literal

from msgspec import Struct, field

from logdoctor.model import LifecycleSign, Mark, Record
from logdoctor.reasoning.lifecycle.attempts import Attempts, is_of_machine
from logdoctor.reasoning.lifecycle.caught_exceptions import CaughtExceptions
from logdoctor.reasoning.lifecycle.clocks import A_YEAR, Clocks
from logdoctor.reasoning.lifecycle.ends import End, NamedEnds, end_of
from logdoctor.reasoning.lifecycle.heartbeat import Hear, hear_nothing
from logdoctor.reasoning.lifecycle.object_states import ObjectStates
from logdoctor.reasoning.processes import Process, Processes, names_an_end, process_of, speaker_of
from logdoctor.reasoning.steps import Steps

MAX_LIVES = 1 << 13
MAX_ALARMS, MAX_ALL_ALARMS = 3, 24
CALENDAR_END = 253_402_300_800.0
MAX_FILES = 4096
MAX_ENDS = 8
MAX_GOOD_ENDS = 64
SIGNS_OF_LIFE: tuple[Mark, ...] = ("starts", "starts again", "comes up", "works")


PLAIN = ("text",)
"""Formats of lines that no other format knows."""


class Lifecycle(Struct):
    """Life of one process, of the program or of the job."""

    last: Record | None = None
    """Last record that it printed."""
    alarms: list[Record] = field(default_factory=list)
    """First failing records of each attempt."""
    alarms_before: int = 0
    """Number of those of earlier attempts."""
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

    def add_alarm(self, record: Record) -> None:
        if len(self.alarms) < min(self.alarms_before + MAX_ALARMS, MAX_ALL_ALARMS):
            self.alarms.append(record.without_lines())

    def begin_attempt(self) -> None:
        """Forget how the attempt before was ended, because another attempt or job begins."""
        self.alarms_before = len(self.alarms)
        self.ends.clear()
        self.orders.clear()


def find_nothing() -> Record | None:
    """Return no end, as long as the log was not read to its end."""
    return None


class Lives:
    """All lives of a job, updated record by record."""

    READS = ("all",)

    def __init__(self, names: Processes, attempts: Attempts, clocks: Clocks, steps: Steps) -> None:
        self.names, self.attempts, self.clocks, self.steps = names, attempts, clocks, steps
        self.processes: dict[Process, Lifecycle] = {}
        self.named_ends = NamedEnds(attempts)
        self.states = ObjectStates()
        self.program, self.job = Lifecycle(), Lifecycle()
        self.good_ends: deque[Record] = deque(maxlen=MAX_GOOD_ENDS)
        """Last reports of a program or a batch system that it ended well."""
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
        self.greetings: dict[Hashable, Record] = {}
        """Last greeting of each rank since the program was started last, such as ``Hello from rank 3 of 8``."""
        self.started_at = 0
        """`Record.order` of the last start of the program."""
        self.result: Record | None = None
        """Final result of the program, if no process had ended before."""
        self.find_end: Callable[[], Record | None] = find_nothing
        """Returns the last line of a log that shows that the program ended, but not how."""
        self._any_ended = False
        self.activity: dict[str, Record] = {}
        """Last step or phase in each file before a process there waited in vain."""
        self._waiting: set[str] = set()
        self.caught = CaughtExceptions()
        self.line_counts: Mapping[str, int] = {}
        """Lines of each file, set after the whole log was read."""
        self.hear_work: Hear = hear_nothing
        """Set after the whole log was read too."""
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
        speaker = self._life(speaker_of(record))
        speaker.last = record.without_lines()
        life = self._life(process_of(record)) if record.signs else speaker
        for sign in record.signs:
            self._read_sign(sign, record, life)
        if names_an_end(record):
            self.named_ends.add(record)
        if record.failing:
            if "waited_ms" in record.fields:
                self._waiting.add(record.line.file)
            self._life(process_of(record)).add_alarm(record)
            self.caught.add(record)
        elif record.source.rank is not None and (record.line.file in self._calm or len(self._calm) < MAX_FILES):
            # a failure does not count, because ``srun -l`` puts a rank in front of a shell's complaint too
            self._calm[record.line.file] = record.order

    def _note_file(self, record: Record) -> None:
        family = record.format
        files = self._files_of["program" if _is_of_job(record) else "machine"]
        if family not in PLAIN and len(files) < MAX_FILES:
            files.add(record.line.file)

    def _read_time(self, record: Record, time: float) -> None:
        """Extend the time range of the job.

        Records of machine, cluster and scheduler may lie long before or after it, so they do not count.
        """
        if 0 < time < CALENDAR_END and _is_of_job(record):
            first, last = self.times.get(time >= A_YEAR, (time, time))
            self.times[time >= A_YEAR] = min(first, time), max(last, time)

    def _life(self, key: Process) -> Lifecycle:
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
            self._read_work(of, record)
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

    def _read_work(self, of: str, record: Record) -> None:
        if of == "program":
            self.result = None if self._any_ended else record
        elif of == "process":
            self.closings.clear()
        elif not self._any_ended and len(self.greetings) < MAX_LIVES:
            self.greetings[record.fields.get("value")] = record

    def _read_closing(self, of: str, record: Record) -> None:
        closed, key = self.closings.setdefault(record.kind, {}), process_of(record)
        if len(closed) < MAX_LIVES:  # a line of no process speaks for the program
            of_program = of == "program" or isinstance(key, str)
            closed[None if of_program else (key, record.fields.get("group_rank"))] = record

    def _begin_attempt(self) -> None:
        self._spans = self.attempts.spans
        self.closings.clear()
        for life in (*self.processes.values(), self.program, self.job):
            life.begin_attempt()

    # ── queries ───────────────────────────────────────────────────────────────────────────────────────────────────────

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

    def list_ends(self) -> list[End]:
        """Return the ends of processes in the last attempt, in reading order."""
        lives = self.processes.values()
        told = (r for life in lives for r in (*life.ends, *life.orders, life.well) if r is not None)
        ends = (r for r in told if r.reports_end_of_other or (r.reports_own_end and r.level == "fatal"))
        return [end_of(r) for r in sorted(ends, key=lambda r: r.order)]

    @property
    def any_failed(self) -> bool:
        """Return whether a process, the program or the job failed or was ended in this attempt."""
        lives = (*self.processes.values(), self.program, self.job)
        return bool(self.job.orders) or any(life.ends for life in lives)

    def with_alarm(self) -> set[Process]:
        """Return the processes that printed a failure."""
        return {key for key, life in self.processes.items() if len(life.alarms) > life.alarms_before}

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
        hosts = self.names.host_of(earlier), self.names.host_of(later)
        seconds, doubt = self.clocks.seconds(earlier, later, hosts)
        return seconds is not None and seconds > doubt


def waited(record: Record) -> bool:
    """Return whether a process waited for others until its limit."""
    return record.has("waits") or "waited_ms" in record.fields


def is_place(record: Record) -> bool:
    """Return whether the record is a stack without an exception: a place, which ends nothing."""
    return record.fields.get("exception") == "" and "frames" in record.fields and record.level != "fatal"


def _is_of_job(record: Record) -> bool:
    """Return whether the job itself tells the record, and not its machine, or a scheduler that sees it go on."""
    return not is_of_machine(record) and not record.tells("goes on")

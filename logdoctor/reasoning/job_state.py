"""State of the job, collected while the records stream by.

It holds places, versions, launcher, progress of each rank, good ends and restarts. The records themselves need not be
kept.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

from logdoctor.model import Checkpoint, CollectiveState, Evidence, JobSummary, LifecycleSign, Progress, RankRow, Record
from logdoctor.reasoning.identity.addresses import AddressBook, short_host
from logdoctor.reasoning.identity.places import Places
from logdoctor.reasoning.identity.versions import Versions
from logdoctor.reasoning.lifecycle.attempts import OUTSIDE, Attempts
from logdoctor.reasoning.lifecycle.clocks import A_YEAR, JITTER, Clocks
from logdoctor.reasoning.lifecycle.ends import End, Ends
from logdoctor.reasoning.lifecycle.good_ends import GoodEnds
from logdoctor.reasoning.lifecycle.got_over import CaughtExceptions
from logdoctor.reasoning.lifecycle.launchers import NamedEnds, launcher_of, names_an_end
from logdoctor.reasoning.lifecycle.spoken import RankLines
from logdoctor.reasoning.lifecycle.steps import Steps

MAX_NAMES = 4096
MAX_SETTINGS, MAX_SETTING_LENGTH = 256, 300
SCHEDULERS = ("slurm", "kubernetes", "flux", "yarn", "grid_engine")
"""Formats of schedulers, by their names."""
STARTS: frozenset[LifecycleSign] = frozenset({"launch", "start", "restart", "comes up"})
CALENDAR_END = 253_402_300_800.0


class JobState:
    """Facts about the job, updated by each record."""

    def __init__(self) -> None:
        self.places = Places()
        self.formats: set[str] = set()
        self.kinds: set[str] = set()
        self.runs = Attempts()
        self.versions = Versions(self.runs)
        self.steps: dict[int | None, Steps] = {}
        self.good_ends = GoodEnds()
        self.got_over = CaughtExceptions()
        self.first_step: int | None = None
        self.started = False
        """True after a record that only a start prints."""
        self._checkpoint: Record | None = None
        self._unproved_checkpoint: Record | None = None
        """Record of a checkpoint whose end is not seen. Progress after it proves it."""
        self.job_id: str | None = None
        self.phases: list[tuple[int, str]] = []
        self.named_ends = NamedEnds(self.runs)
        self._ends = Ends()
        self.addresses = AddressBook()
        self.clocks = Clocks()
        self.environment: dict[tuple[str, str], None] = {}
        self.time_ranges: dict[bool, tuple[float, float]] = {}
        """Earliest and latest time, keyed by whether the time stamps have a year."""
        self.spoke = RankLines()
        self.line_counts: Mapping[str, int] = {}
        """Lines of each file, set after the whole log was read."""
        self._wanted: Callable[[Record], bool] = _is_any
        """Filter for records of the selected run."""
        self._last_steps: dict[int | None, Record] | None = None
        """Cache of `last_steps`, cleared by each record."""

    def observe(self, record: Record) -> None:
        self._last_steps = None
        self.formats.add(record.format)
        self.kinds.add(record.kind)
        self.good_ends.observe(record)
        self._ends.observe(record)
        self.got_over.observe(record)
        self.places.observe(record)
        self._read_time(record)
        self._read_start(record)
        self._read_job_id(record)
        self.spoke.observe(record)
        self.addresses.observe(record)
        self.clocks.observe(record, short_host(record.host or "") or self.places.host_with(record.rank))
        if record.kind == "progress.step":
            self._read_step(record)
        elif names_an_end(record):
            self.named_ends.observe(record)
        elif record.kind == "progress.phase":
            self._read_phase(record)
        elif record.kind.endswith(".env"):
            self._read_setting(record)
        elif record.kind.endswith(".version"):
            self.versions.observe(record)

    def _read_time(self, record: Record) -> None:
        """Extend the time range of the job.

        Records of machine and cluster may lie long before or after it, so they do not count.
        """
        time = record.time
        if time is not None and 0 < time < CALENDAR_END and record.format.partition("_")[0] not in OUTSIDE:
            first, last = self.time_ranges.get(time >= A_YEAR, (time, time))
            self.time_ranges[time >= A_YEAR] = min(first, time), max(last, time)

    def _read_start(self, record: Record) -> None:
        self.started = self.started or not STARTS.isdisjoint(record.signs)
        before = self.runs.spans
        self.runs.observe(record)
        if self.runs.spans > before:
            self.good_ends.counters.begin_attempt()
            for steps in self.steps.values():
                steps.begin_attempt()

    def _read_step(self, record: Record) -> None:
        if self.first_step is None:
            self.first_step = record.order
        if self._unproved_checkpoint is not None:
            self._checkpoint, self._unproved_checkpoint = self._unproved_checkpoint, None
        if len(self.steps) < MAX_NAMES or record.rank in self.steps:
            steps = self.steps.setdefault(record.rank, Steps())
            steps.count += 1
            steps.latest.append(record)

    def _read_phase(self, record: Record) -> None:
        phase = str(record.fields.get("phase", ""))
        if phase == "save" and ("checkpoint_step" in record.fields or "checkpoint_path" in record.fields):
            self._unproved_checkpoint = record
        if (not self.phases or self.phases[-1][1] != phase) and len(self.phases) < MAX_NAMES:
            self.phases.append((record.order, phase))

    def _read_job_id(self, record: Record) -> None:
        step = record.fields.get("step")
        if self.job_id is None and record.format == "slurm" and step is not None:
            self.job_id = str(step).partition(".")[0] or None

    def _read_setting(self, record: Record) -> None:
        name, value = record.fields.get("name"), record.fields.get("value")
        if isinstance(name, str) and value is not None and len(self.environment) < MAX_SETTINGS:
            self.environment.setdefault((name, str(value)[:MAX_SETTING_LENGTH]))

    def seconds_between(self, earlier: Record, later: Record) -> tuple[float | None, float]:
        """Return the seconds between two records, and their possible error.

        The seconds are None if unknown.
        """
        return self.clocks.seconds(earlier, later, (self.places.host_of(earlier), self.places.host_of(later)))

    def surely_after(self, later: Record, earlier: Record) -> bool:
        """Return whether ``later`` surely came after ``earlier``.

        In one file the position decides. Between files the time difference must exceed its possible error.
        """
        if later.line.file == earlier.line.file:
            return later.order > earlier.order
        seconds, doubt = self.seconds_between(earlier, later)
        return seconds is not None and seconds > doubt

    def lines_after(self, record: Record) -> int:
        """Count the lines behind ``record`` in its file."""
        return self.line_counts.get(record.line.file, 0) - record.line.number

    def phase_at(self, order: int) -> str:
        """Return the job's phase at the record number ``order``.

        It is ``launch``, ``init``, ``running``, ``checkpoint`` or ``teardown``.
        """
        if (done := self.good_ends.done) is not None and order > done.order:
            return "teardown"
        phase = next((name for start, name in reversed(self.phases) if start <= order), "")
        if phase == "save":
            return "checkpoint"
        if self.first_step is not None and self.first_step < order:
            return "running"
        return "init" if phase or self.places.expected else "launch"

    @property
    def launcher(self) -> str | None:
        """Launcher that started the job, derived from the formats of the log."""
        return launcher_of(self.formats)

    def of_run(self, wanted: Callable[[Record], bool]) -> JobState:
        """Return a view whose progress, hosts and versions are of one run.

        ``wanted`` selects the records of that run.
        """
        view = copy.copy(self)
        view._wanted, view._last_steps = wanted, None  # noqa: SLF001 - same class
        return view

    def last_steps(self) -> dict[int | None, Record]:
        """Return the last step that each rank reported in the selected run.

        The key None holds a step without a rank. Ask after the whole log was read, because only then local ranks and
        pids can be resolved.
        """
        if self._last_steps is None:
            self._last_steps = self._find_last_steps()
        return self._last_steps

    def _find_last_steps(self) -> dict[int | None, Record]:
        last_steps = {
            rank: last for rank, steps in self.steps.items() if (last := steps.last(self._wanted)) is not None
        }
        for record in self.steps[None].newest_first() if None in self.steps else ():
            rank = self.places.rank_of(record) if self._wanted(record) else None
            if rank is not None:
                last_steps.setdefault(rank, record)
        return last_steps

    def last_progress(self) -> Progress | None:
        record = self._latest_step()
        if record is None:
            return None
        value, total = record.fields.get("value"), record.fields.get("total")
        label = "" if value is None else f"{value}/{total}" if total is not None else str(value)
        unit, epoch = str(record.fields.get("unit", "step")), str(record.fields.get("epoch", ""))
        return Progress(unit, label, self.evidence(record), epoch)

    def _latest_step(self) -> Record | None:
        return max(self.last_steps().values(), key=lambda e: e.order, default=None)

    def step_seconds(self) -> float | None:
        """Return the median time of a step, of the rank with the most steps."""
        steps = max(self.steps.values(), key=lambda steps: steps.count, default=None)
        return steps.seconds_per_step() if steps else None

    def last_checkpoint(self) -> Checkpoint | None:
        record = self._checkpoint
        if record is None:
            return None
        step = record.fields.get("checkpoint_step")
        path = str(record.fields.get("checkpoint_path", ""))
        return Checkpoint(step if isinstance(step, int) else None, path, record.line)

    def ends(self) -> list[End]:
        """Return the ends of processes that the selected run tells, in reading order."""
        return [end for end in self._ends if self._wanted(end.record)]

    def stepped_until(self, record: Record) -> bool:
        """Return whether the run made steps and all of them before ``record``."""
        latest = self._latest_step()
        return latest is not None and latest.order < record.order

    def evidence(self, record: Record, why: str = "") -> Evidence:
        return Evidence(record.line, self.places.rank_of(record), self.places.host_of(record), record.time, why)

    def summary(
        self,
        first_failure: Record | None,
        rank_table: tuple[RankRow, ...] = (),
        standings: tuple[CollectiveState, ...] = (),
        *,
        failed: bool,
        truncated: bool,
    ) -> JobSummary:
        """Return the summary for the report.  ``failed``: some line shows a failure."""
        death = self.named_ends.first_death
        started, ended = self.time_ranges.get(True) or self.time_ranges.get(False) or (None, None)
        return JobSummary(
            ranks_expected=self.places.expected,
            ranks_seen=tuple(sorted(self.places.ranks)),
            hosts=self.places.hosts_of_run(self._wanted),
            versions=tuple(self.versions.of_run(self._wanted)),
            launcher=self.launcher,
            id=self.job_id,
            scheduler=next((name for name in SCHEDULERS if name in self.formats), None),
            first_failure=self.evidence(first_failure) if first_failure else None,
            first_death=self.evidence(death, str(death.fields.get("how", ""))) if death and failed else None,
            last_progress=self.last_progress(),
            step_seconds=self.step_seconds(),
            last_checkpoint=self.last_checkpoint(),
            attempts=self.runs.count,
            truncated=truncated,
            rank_table=rank_table,
            groups=self.places.groups(),
            nodes=self.places.nodes,
            ranks_per_node=self.places.per_node,
            versions_apart=self.versions.differing(),
            environment=tuple(sorted(self.environment)),
            standings=standings,
            clocks=tuple(c for c in self.clocks.offsets() if abs(c.ahead) > JITTER),
            started=started,
            ended=ended,
        )


def _is_any(_: Record) -> bool:
    return True

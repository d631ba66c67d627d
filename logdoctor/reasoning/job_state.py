"""The job's picture: facts folded while the events stream by, so that they need not be kept.

Who is where (places.py), versions, launcher, how far each rank got, what ended well, and the restarts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

from logdoctor.model import CollectiveState, Evidence, JobSummary, Progress, RankRow, Record
from logdoctor.reasoning.identity.addresses import AddressBook, short_host
from logdoctor.reasoning.identity.places import Places
from logdoctor.reasoning.identity.versions import Versions
from logdoctor.reasoning.lifecycle.attempts import OUTSIDE, Attempts
from logdoctor.reasoning.lifecycle.clocks import A_YEAR, JITTER, Clocks
from logdoctor.reasoning.lifecycle.good_ends import GoodEnds
from logdoctor.reasoning.lifecycle.got_over import CaughtExceptions
from logdoctor.reasoning.lifecycle.launchers import NamedEnds, launcher_of, names_an_end
from logdoctor.reasoning.lifecycle.spoken import RankLines
from logdoctor.reasoning.lifecycle.steps import Steps

MAX_NAMES = 4096
MAX_SETTINGS, SETTING_KEPT = 256, 300
CALENDAR_END = 253_402_300_800.0


class JobState:
    """Folds events into what is known of the job."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self.places = Places()
        self.formats: set[str] = set()
        self.runs = Attempts()
        self.versions = Versions(self.runs)
        self.steps: dict[int | None, Steps] = {}
        self.good_ends = GoodEnds()
        self.got_over = CaughtExceptions()
        self.first_step: int | None = None
        self.phases: list[tuple[int, str]] = []
        self.named_ends = NamedEnds(self.runs)
        self.addresses = AddressBook()
        self.clocks = Clocks()
        self.environment: dict[tuple[str, str], None] = {}
        self._times: dict[bool, tuple[float, float]] = {}
        """The earliest and the latest stamp, of those that tell the year and of those that do not."""
        self.spoke = RankLines()
        self.lengths: Mapping[str, int] = {}
        """How many lines each file has; known when all was read."""
        self._wanted: Callable[[Record], bool] = _any
        """Which events are of the run that is told."""
        self._last_steps: dict[int | None, Record] | None = None
        """What `last_steps` found, until another event comes."""

    def observe(self, record: Record) -> None:
        """Take one event in."""
        self._last_steps = None
        self.formats.add(record.format)
        self.good_ends.observe(record)
        self.got_over.observe(record)
        self.places.observe(record)
        self._see_time(record)
        self._see_start(record)
        self.spoke.observe(record)
        self.addresses.observe(record)
        self.clocks.observe(record, short_host(record.host or "") or self.places.host_with(record.rank))
        if record.kind == "progress.step":
            self._see_step(record)
        elif names_an_end(record):
            self.named_ends.observe(record)
        elif record.kind == "progress.phase":
            self._see_phase(record)
        elif record.kind.endswith(".env"):
            self._see_setting(record)
        elif record.kind.endswith(".version"):
            self.versions.observe(record)

    def _see_time(self, record: Record) -> None:
        """What the machine and the cluster report may lie long before the job, or after it."""
        time = record.time
        if time is not None and 0 < time < CALENDAR_END and record.format.partition("_")[0] not in OUTSIDE:
            first, last = self._times.get(time >= A_YEAR, (time, time))
            self._times[time >= A_YEAR] = min(first, time), max(last, time)

    def _see_start(self, record: Record) -> None:
        before = self.runs.spans
        self.runs.observe(record)
        if self.runs.spans > before:
            for steps in self.steps.values():
                steps.begin_attempt()

    def _see_step(self, record: Record) -> None:
        if self.first_step is None:
            self.first_step = record.order
        if len(self.steps) < MAX_NAMES or record.rank in self.steps:
            steps = self.steps.setdefault(record.rank, Steps())
            steps.count += 1
            steps.latest.append(record)

    def _see_phase(self, record: Record) -> None:
        phase = str(record.fields.get("phase", ""))
        if (not self.phases or self.phases[-1][1] != phase) and len(self.phases) < MAX_NAMES:
            self.phases.append((record.order, phase))

    def _see_setting(self, record: Record) -> None:
        name, value = record.fields.get("name"), record.fields.get("value")
        if isinstance(name, str) and value is not None and len(self.environment) < MAX_SETTINGS:
            self.environment.setdefault((name, str(value)[:SETTING_KEPT]))

    def seconds_between(self, earlier: Record, later: Record) -> tuple[float | None, float]:
        """The seconds from one event to the other (None: unknown), and how far that may be wrong."""
        return self.clocks.seconds(earlier, later, (self.places.host_of(earlier), self.places.host_of(later)))

    def surely_after(self, later: Record, earlier: Record) -> bool:
        """Whether ``later`` came after ``earlier``: by place in one file, between files by times beyond all doubt."""
        if later.line.file == earlier.line.file:
            return later.order > earlier.order
        seconds, doubt = self.seconds_between(earlier, later)
        return seconds is not None and seconds > doubt

    def lines_after(self, record: Record) -> int:
        """How many lines stand behind ``event`` in its file."""
        return self.lengths.get(record.line.file, 0) - record.line.number

    def phase_at(self, order: int) -> str:
        """What the job was doing when the event of this ``order`` was printed."""
        if (done := self.good_ends.done) is not None and order > done.order:
            return "teardown"
        doing = next((p for at, p in reversed(self.phases) if at <= order), "")
        if doing == "save":
            return "checkpoint"
        if self.first_step is not None and self.first_step < order:
            return "running"
        return "init" if doing or self.places.expected else "launch"

    @property
    def launcher(self) -> str | None:
        """The launcher that the formats give away."""
        return launcher_of(self.formats)

    def of_run(self, wanted: Callable[[Record], bool]) -> JobState:
        """The same picture, of which progress, hosts and versions are those of one run, whose events are ``wanted``."""
        view = copy.copy(self)
        view._wanted, view._last_steps = wanted, None  # noqa: SLF001 - its own
        return view

    def last_steps(self) -> dict[int | None, Record]:
        """The last step that each rank (None: somebody unnamed) reported in the run that is told.

        A rank that is named by its local rank or its process is known only when all was read.
        """
        if self._last_steps is None:
            self._last_steps = self._find_last_steps()
        return self._last_steps

    def _find_last_steps(self) -> dict[int | None, Record]:
        found = {rank: last for rank, own in self.steps.items() if (last := own.last(self._wanted)) is not None}
        for record in self.steps[None].newest_first() if None in self.steps else ():
            rank = self.places.rank_of(record) if self._wanted(record) else None
            if rank is not None:
                found.setdefault(rank, record)
        return found

    def last_progress(self) -> Progress | None:
        """The latest progress record of all."""
        record = self._latest_step()
        if record is None:
            return None
        value, total = record.fields.get("value"), record.fields.get("total")
        shown = "" if value is None else f"{value}/{total}" if total is not None else str(value)
        unit, epoch = str(record.fields.get("unit", "step")), str(record.fields.get("epoch", ""))
        return Progress(unit, shown, self.evidence(record), epoch)

    def _latest_step(self) -> Record | None:
        return max(self.last_steps().values(), key=lambda e: e.order, default=None)

    def stepped_until(self, record: Record) -> bool:
        """Whether all progress of the run, and there is some, was made before ``event``."""
        latest = self._latest_step()
        return latest is not None and latest.order < record.order

    def evidence(self, record: Record, why: str = "") -> Evidence:
        """``event``'s line as evidence."""
        return Evidence(record.line, self.places.rank_of(record), self.places.host_of(record), record.time, why)

    def summary(
        self,
        first_failure: Record | None,
        rank_table: tuple[RankRow, ...] = (),
        standings: tuple[CollectiveState, ...] = (),
        *,
        truncated: bool,
    ) -> JobSummary:
        """The picture as the report shows it."""
        died = self.named_ends.first_death
        started, ended = self._times.get(True) or self._times.get(False) or (None, None)
        return JobSummary(
            ranks_expected=self.places.expected,
            ranks_seen=tuple(sorted(self.places.ranks)),
            hosts=self.places.hosts_of_run(self._wanted),
            versions=tuple(self.versions.of_run(self._wanted)),
            launcher=self.launcher,
            first_failure=self.evidence(first_failure) if first_failure else None,
            first_death=self.evidence(died, str(died.fields.get("how", ""))) if died and first_failure else None,
            last_progress=self.last_progress(),
            attempts=self.runs.count,
            truncated=truncated,
            rank_table=rank_table,
            groups=self.places.groups(),
            nodes=self.places.nodes,
            ranks_per_node=self.places.per_node,
            versions_apart=self.versions.apart(),
            environment=tuple(sorted(self.environment)),
            standings=standings,
            clocks=tuple(c for c in self.clocks.offsets() if abs(c.ahead) > JITTER),
            started=started,
            ended=ended,
        )


def _any(_: Record) -> bool:
    return True

"""The job's picture: facts folded while the events stream by, so that they need not be kept.

Who is where (places.py), versions, launcher, how far each rank got, what ended well, and the restarts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

from logdoctor.model import Event, Evidence, JobPicture, Progress, RankRow, Standing
from logdoctor.reasoning.addresses import AddressBook, short_host
from logdoctor.reasoning.attempts import OUTSIDE, Attempts
from logdoctor.reasoning.clocks import A_YEAR, JITTER, Clocks
from logdoctor.reasoning.good_ends import GoodEnds
from logdoctor.reasoning.got_over import GotOver
from logdoctor.reasoning.launchers import NamedEnds, launcher_of, names_an_end
from logdoctor.reasoning.places import Places
from logdoctor.reasoning.spoken import RanksSpoke
from logdoctor.reasoning.steps import Steps
from logdoctor.reasoning.versions import Versions

MAX_NAMES = 4096
MAX_SETTINGS, SETTING_KEPT = 256, 300
CALENDAR_END = 253_402_300_800.0


class Picture:
    """Folds events into what is known of the job."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self.places = Places()
        self.dialects: set[str] = set()
        self.runs = Attempts()
        self.versions = Versions(self.runs)
        self.steps: dict[int | None, Steps] = {}
        self.good_ends = GoodEnds()
        self.got_over = GotOver()
        self.first_step: int | None = None
        self.phases: list[tuple[int, str]] = []
        self.named_ends = NamedEnds(self.runs)
        self.addresses = AddressBook()
        self.clocks = Clocks()
        self.environment: dict[tuple[str, str], None] = {}
        self._times: dict[bool, tuple[float, float]] = {}
        """The earliest and the latest stamp, of those that tell the year and of those that do not."""
        self.spoke = RanksSpoke()
        self.lengths: Mapping[str, int] = {}
        """How many lines each file has; known when all was read."""
        self._wanted: Callable[[Event], bool] = _any
        """Which events are of the run that is told."""
        self._last_steps: dict[int | None, Event] | None = None
        """What `last_steps` found, until another event comes."""

    def observe(self, event: Event) -> None:
        """Take one event in."""
        self._last_steps = None
        self.dialects.add(event.dialect)
        self.good_ends.observe(event)
        self.got_over.observe(event)
        self.places.observe(event)
        self._see_time(event)
        self._see_start(event)
        self.spoke.observe(event)
        self.addresses.observe(event)
        self.clocks.observe(event, short_host(event.host or "") or self.places.host_with(event.rank))
        if event.kind == "progress.step":
            self._see_step(event)
        elif names_an_end(event):
            self.named_ends.observe(event)
        elif event.kind == "progress.phase":
            self._see_phase(event)
        elif event.kind.endswith(".env"):
            self._see_setting(event)
        elif event.kind.endswith(".version"):
            self.versions.observe(event)

    def _see_time(self, event: Event) -> None:
        """What the machine and the cluster report may lie long before the job, or after it."""
        time = event.time
        if time is not None and 0 < time < CALENDAR_END and event.dialect.partition("_")[0] not in OUTSIDE:
            first, last = self._times.get(time >= A_YEAR, (time, time))
            self._times[time >= A_YEAR] = min(first, time), max(last, time)

    def _see_start(self, event: Event) -> None:
        before = self.runs.spans
        self.runs.observe(event)
        if self.runs.spans > before:
            for steps in self.steps.values():
                steps.put_aside()

    def _see_step(self, event: Event) -> None:
        if self.first_step is None:
            self.first_step = event.order
        if len(self.steps) < MAX_NAMES or event.rank in self.steps:
            steps = self.steps.setdefault(event.rank, Steps())
            steps.count += 1
            steps.latest.append(event)

    def _see_phase(self, event: Event) -> None:
        phase = str(event.fields.get("phase", ""))
        if (not self.phases or self.phases[-1][1] != phase) and len(self.phases) < MAX_NAMES:
            self.phases.append((event.order, phase))

    def _see_setting(self, event: Event) -> None:
        name, value = event.fields.get("name"), event.fields.get("value")
        if isinstance(name, str) and value is not None and len(self.environment) < MAX_SETTINGS:
            self.environment.setdefault((name, str(value)[:SETTING_KEPT]))

    def seconds_between(self, earlier: Event, later: Event) -> tuple[float | None, float]:
        """The seconds from one event to the other (None: unknown), and how far that may be wrong."""
        return self.clocks.seconds(earlier, later, (self.places.host_of(earlier), self.places.host_of(later)))

    def surely_after(self, later: Event, earlier: Event) -> bool:
        """Whether ``later`` came after ``earlier``: by place in one file, between files by times beyond all doubt."""
        if later.line.file == earlier.line.file:
            return later.order > earlier.order
        seconds, doubt = self.seconds_between(earlier, later)
        return seconds is not None and seconds > doubt

    def lines_after(self, event: Event) -> int:
        """How many lines stand behind ``event`` in its file."""
        return self.lengths.get(event.line.file, 0) - event.line.number

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
        """The launcher that the dialects give away."""
        return launcher_of(self.dialects)

    def of_run(self, wanted: Callable[[Event], bool]) -> Picture:
        """The same picture, of which progress, hosts and versions are those of one run, whose events are ``wanted``."""
        view = copy.copy(self)
        view._wanted, view._last_steps = wanted, None  # noqa: SLF001 - its own
        return view

    def last_steps(self) -> dict[int | None, Event]:
        """The last step that each rank (None: somebody unnamed) reported in the run that is told.

        A rank that is named by its local rank or its process is known only when all was read.
        """
        if self._last_steps is None:
            self._last_steps = self._find_last_steps()
        return self._last_steps

    def _find_last_steps(self) -> dict[int | None, Event]:
        found = {rank: last for rank, own in self.steps.items() if (last := own.last(self._wanted)) is not None}
        for event in self.steps[None].kept() if None in self.steps else ():
            rank = self.places.rank_of(event) if self._wanted(event) else None
            if rank is not None:
                found.setdefault(rank, event)
        return found

    def last_progress(self) -> Progress | None:
        """The latest progress record of all."""
        event = self._latest_step()
        if event is None:
            return None
        value, total = event.fields.get("value"), event.fields.get("total")
        shown = "" if value is None else f"{value}/{total}" if total is not None else str(value)
        unit, epoch = str(event.fields.get("unit", "step")), str(event.fields.get("epoch", ""))
        return Progress(unit, shown, self.evidence(event), epoch)

    def _latest_step(self) -> Event | None:
        return max(self.last_steps().values(), key=lambda e: e.order, default=None)

    def stepped_until(self, event: Event) -> bool:
        """Whether all progress of the run, and there is some, was made before ``event``."""
        latest = self._latest_step()
        return latest is not None and latest.order < event.order

    def evidence(self, event: Event, why: str = "") -> Evidence:
        """``event``'s line as evidence."""
        return Evidence(event.line, self.places.rank_of(event), self.places.host_of(event), event.time, why)

    def summary(
        self,
        first_failure: Event | None,
        rank_table: tuple[RankRow, ...] = (),
        standings: tuple[Standing, ...] = (),
        *,
        truncated: bool,
    ) -> JobPicture:
        """The picture as the report shows it."""
        died = self.named_ends.first_death
        started, ended = self._times.get(True) or self._times.get(False) or (None, None)
        return JobPicture(
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
            clocks=tuple(c for c in self.clocks.compared() if abs(c.ahead) > JITTER),
            started=started,
            ended=ended,
        )


def _any(_: Event) -> bool:
    return True

"""State of the job, collected while the records stream by.

It holds processes, versions, launcher, progress of each rank, good ends and restarts. The records themselves need not
be kept.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from logdoctor.model import Checkpoint, CollectiveState, Evidence, JobSummary, Progress, RankRow, Record
from logdoctor.model.times import has_year
from logdoctor.model.tools import Tools, tools_of
from logdoctor.reasoning.dispatch import Dispatch, Handler
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.identity.versions import Versions
from logdoctor.reasoning.lifecycle.attempts import Attempts
from logdoctor.reasoning.lifecycle.clocks import JITTER, Clocks
from logdoctor.reasoning.lifecycle.ends import End
from logdoctor.reasoning.lifecycle.lives import Lives
from logdoctor.reasoning.processes import Processes
from logdoctor.reasoning.steps import Steps, count_of, is_any

MAX_NAMES = 4096
MAX_SETTINGS, MAX_SETTING_LENGTH = 256, 300


class JobState:
    """Facts about the job, updated by each record."""

    def __init__(self) -> None:
        self.processes = Processes()
        self.steps = Steps(self.processes)
        self.runs = Attempts(self.steps)
        self.versions = Versions(self.runs)
        self._checkpoint: Record | None = None
        """Last proved checkpoint before the last save."""
        self._save: Record | None = None
        """Begin of the last save. A step after it proves the checkpoint."""
        self.from_zero: Record | None = None
        """Line by which the last attempt began without a checkpoint."""
        self.storage_back: deque[Record] = deque(maxlen=MAX_NAMES)
        """Last lines that say that a file server answers again."""
        self.job_id: str | None = None
        self.named_scheduler = ""
        """The scheduler that the names of the files tell, if no line does."""
        self.phases: list[tuple[int, str]] = []
        self.clocks = Clocks(self._host_of_clock)
        self.lives = Lives(self.processes, self.runs, self.clocks, self.steps)
        self.named_ends = self.lives.named_ends
        self.environment: dict[tuple[str, str], None] = {}
        self.examined: dict[int, list[Record]] = {}
        """Answers about the process of a proof, by `Record.order`."""
        self._wanted: Callable[[Record], bool] = is_any
        """Filter for records of the selected run."""
        self.readers = (
            *self.processes.readers,
            *(self.runs, self.steps, self.lives, self.lives.states, self.clocks, self.versions),
            Handler(("busy", "tells resume"), self._read_phase),
            Handler(("progress.from_zero",), self._read_start),
            Handler(("kernel.storage_back",), self._read_recovery),
            Handler(("slurm.*",), self._read_job_id),
            Handler(("tells setting",), self._read_setting),
        )
        self.observe = Dispatch(self.readers)

    @property
    def formats(self) -> AbstractSet[str]:
        """Formats of all records."""
        return self.lives.formats

    def _host_of_clock(self, record: Record) -> str | None:
        return short_host(record.host or "") or self.processes.host_with(record.rank)

    def _proved_checkpoint(self) -> Record | None:
        step, save = self.steps.last, self._save
        return save if save is not None and step is not None and step.order > save.order else self._checkpoint

    def _read_recovery(self, record: Record) -> None:
        self.storage_back.append(record)

    def _read_start(self, record: Record) -> None:
        self.from_zero = record

    def _read_phase(self, record: Record) -> None:
        phase = str(record.fields.get("phase", ""))
        if phase == "resume" or record.tells("resume"):
            self.from_zero = None
        if not phase:
            return
        if phase == "save" and ("checkpoint_step" in record.fields or "checkpoint_path" in record.fields):
            self._checkpoint, self._save = self._proved_checkpoint(), record
        if (not self.phases or self.phases[-1][1] != phase) and len(self.phases) < MAX_NAMES:
            self.phases.append((record.order, phase))

    def _read_job_id(self, record: Record) -> None:
        step = record.fields.get("step")
        if self.job_id is None and step is not None:
            self.job_id = str(step).partition(".")[0] or None

    def _read_setting(self, record: Record) -> None:
        name, value = record.fields.get("name"), record.fields.get("value")
        if isinstance(name, str) and value is not None and len(self.environment) < MAX_SETTINGS:
            self.environment.setdefault((name, str(value)[:MAX_SETTING_LENGTH]))

    def seconds_between(self, earlier: Record, later: Record) -> tuple[float | None, float]:
        """Return the seconds between two records, and their possible error.

        The seconds are None if unknown.
        """
        return self.clocks.seconds(earlier, later, (self.processes.host_of(earlier), self.processes.host_of(later)))

    def surely_after(self, later: Record, earlier: Record) -> bool:
        return self.lives.surely_after(later, earlier)

    def phase_at(self, order: int) -> str:
        """Return the job's phase at the record number ``order``.

        It is ``launch``, ``init``, ``running``, ``checkpoint`` or ``teardown``.
        """
        if (done := self.lives.program.well) is not None and order > done.order:
            return "teardown"
        phase = next((name for start, name in reversed(self.phases) if start <= order), "")
        if phase == "save":
            return "checkpoint"
        first_step = self.steps.first
        if first_step is not None and first_step.order < order:
            return "running"
        return "init" if phase or self.processes.expected else "launch"

    @property
    def tools(self) -> Tools:
        """The tools that run the job: scheduler, launcher, framework and MPI library."""
        tools = tools_of(self.formats)
        if self.named_scheduler and not tools["scheduler"]:
            return {**tools, "scheduler": (self.named_scheduler,)}
        return tools

    @property
    def versions_of_run(self) -> tuple[tuple[str, str], ...]:
        """Products with their versions in the selected run."""
        return tuple(self.versions.of_run(self._wanted))

    @property
    def launcher(self) -> str | None:
        return next(iter(self.tools["launcher"]), None)

    def of_run(self, wanted: Callable[[Record], bool]) -> JobState:
        """Return a view whose progress, hosts and versions are of one run.

        ``wanted`` selects the records of that run.
        """
        view = copy.copy(self)
        view._wanted, view.steps = wanted, self.steps.of_run(wanted)  # noqa: SLF001 - same class
        return view

    def knowing(self, derived: Iterable[Record]) -> JobState:
        """Return a view in which the conclusions of the questions are known: the first death, and what was examined."""
        view = copy.copy(self)
        derived, view.examined = [*derived], {}
        for record in derived:
            if record.tells("values"):
                view.examined.setdefault(record.order, []).append(record)
        view.named_ends = replace(self.named_ends, first_death=next((e for e in derived if "how" in e.fields), None))
        return view

    def ends(self) -> list[End]:
        """Return the ends of processes in the selected run, in reading order."""
        return [end for end in self.lives.list_ends() if self._wanted(end.record)]

    def last_progress(self) -> Progress | None:
        record = self.steps.latest
        if record is None:
            return None
        unit, epoch = str(record.fields.get("unit", "step")), str(record.fields.get("epoch", ""))
        return Progress(unit, count_of(record), self.evidence(record), epoch)

    def last_checkpoint(self) -> Checkpoint | None:
        record = self._proved_checkpoint()
        if record is None:
            return None
        step = record.fields.get("checkpoint_step")
        path = str(record.fields.get("checkpoint_path", ""))
        return Checkpoint(step if isinstance(step, int) else None, path, record.line)

    def stepped_until(self, record: Record) -> bool:
        """Return whether the run made steps and all of them before ``record``."""
        latest = self.steps.latest
        return latest is not None and latest.order < record.order

    def evidence(self, record: Record, why: str = "") -> Evidence:
        return Evidence(record.line, self.processes.rank_of(record), self.processes.host_of(record), record.time, why)

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
        started, ended = self.lives.times.get(True) or self.lives.times.get(False) or (None, None)
        return JobSummary(
            ranks_expected=self.processes.expected,
            ranks_seen=tuple(sorted(self.processes.ranks)),
            hosts=self.processes.hosts_of_run(self._wanted),
            versions=self.versions_of_run,
            launcher=self.launcher,
            id=self.job_id,
            scheduler=next(iter(self.tools["scheduler"]), None),
            first_failure=self.evidence(first_failure) if first_failure else None,
            first_death=self.evidence(death, str(death.fields.get("how", ""))) if death and failed else None,
            last_progress=self.last_progress(),
            step_seconds=self.steps.seconds(),
            last_checkpoint=self.last_checkpoint(),
            attempts=self.runs.count,
            truncated=truncated,
            rank_table=rank_table,
            groups=self.processes.communicators.groups(),
            nodes=self.processes.communicators.nodes,
            ranks_per_node=self.processes.per_node,
            versions_apart=self.versions.differing(),
            environment=tuple(sorted(self.environment)),
            standings=standings,
            clocks=tuple(c for c in self.clocks.offsets() if abs(c.ahead) > JITTER),
            started=started,
            ended=ended,
            year_known=has_year(started),
        )

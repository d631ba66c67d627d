"""The job's picture: facts folded while the events stream by, so that they need not be kept.

Who is where (rank, host, process), how many ranks there should be, versions, launcher, how far each rank got, and the
restarts.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping

from logdoctor.model import Event, Evidence, JobPicture, Progress, RankRow, Standing, Value
from logdoctor.reasoning.addresses import AddressBook, are_two_hosts, own_name, short_host
from logdoctor.reasoning.attempts import OUTSIDE, Attempts
from logdoctor.reasoning.clocks import A_YEAR, JITTER, Clocks
from logdoctor.reasoning.good_ends import GoodEnds
from logdoctor.reasoning.launchers import NamedEnds, launcher_of, names_an_end, told_local_rank
from logdoctor.reasoning.seats import Seats
from logdoctor.reasoning.spoken import RanksSpoke
from logdoctor.reasoning.steps import Steps
from logdoctor.reasoning.versions import Versions

MAX_NAMES = 4096
MAX_SETTINGS, SETTING_KEPT = 256, 300
CALENDAR_END = 253_402_300_800.0
WORLDS = ("c10d.barrier_wait", "c10d.barrier_done", "c10d.barrier_timeout")
"""Kinds of events whose ``world`` is the number of ranks of the job."""


class Picture:
    """Folds events into what is known of the job."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self.expected: int | None = None
        self.ranks: set[int] = set()
        self.hosts: dict[str, None] = {}
        self.dialects: set[str] = set()
        self.runs = Attempts()
        self.versions = Versions(self.runs)
        self.steps: dict[int | None, Steps] = {}
        self.good_ends = GoodEnds()
        self.first_step: int | None = None
        self.phases: list[tuple[int, str]] = []
        self.named_ends = NamedEnds(self.runs)
        self.seats = Seats()
        self.addresses = AddressBook()
        self.clocks = Clocks()
        self.environment: dict[tuple[str, str], None] = {}
        self._times: dict[bool, tuple[float, float]] = {}
        """The earliest and the latest stamp, of those that tell the year and of those that do not."""
        self._rank_of: dict[tuple[str, int], tuple[int, int]] = {}
        self._rank_of_pid: dict[int, set[int]] = {}
        self._host_of: dict[int, str] = {}
        self._seen_on: dict[str, tuple[Event, Event]] = {}
        """The first and the last event of each host."""
        self.spoke = RanksSpoke()
        self.lengths: Mapping[str, int] = {}
        """How many lines each file has; known when all was read."""
        self._wanted: Callable[[Event], bool] = _any
        """Which events are of the run that is told."""
        self._last_steps: dict[int | None, Event] | None = None
        """What `last_steps` found, until another event comes."""
        self._rank_of_local: dict[tuple[str, int], tuple[int | None, int]] = {}
        """By file and local rank, where a launcher tags lines with it: the rank (None: several), the group's width."""

    def observe(self, event: Event) -> None:
        """Take one event in."""
        self._last_steps = None
        self.dialects.add(event.dialect)
        self.good_ends.observe(event)
        self._see_speaker(event)
        self._see_time(event)
        self._see_start(event)
        self.spoke.observe(event)
        self.seats.observe(event)
        self.addresses.observe(event)
        self.clocks.observe(event, short_host(event.host or "") or self.host_with(event.rank))
        if event.kind == "progress.step":
            self._see_step(event)
        elif names_an_end(event):
            self._see_process(event)
            self.named_ends.observe(event)
        elif "own rank" in event.means:
            self._see_own_rank(event)
        elif event.kind == "slurm.task_exit":
            self._see_tasks(event)
        elif event.kind == "progress.phase":
            self._see_phase(event)
        elif event.kind.endswith(".env"):
            self._see_setting(event)
        elif event.kind.endswith(".version"):
            self.versions.observe(event)

    def _see_speaker(self, event: Event) -> None:
        rank, host, pid = event.speaker.rank, short_host(event.speaker.host or ""), event.speaker.pid
        nranks = event.fields.get("nranks", event.fields.get("world_size"))
        if nranks is None and event.kind in WORLDS:
            nranks = event.fields.get("world")
        if isinstance(nranks, int) and 0 < nranks < 1 << 22:
            self.expected = max(self.expected or 0, nranks)
        if host and (host in self._seen_on or len(self.hosts) < MAX_NAMES):
            self.hosts.setdefault(host)
            first = self._seen_on.get(host, (event,))[0]
            self._seen_on[host] = (first, event if not event.lines else first)  # those of many lines would fill memory
        group_rank = event.fields.get("group_rank")
        of_comm = event.kind in ("nccl.comm_init", "nccl.comm_end")
        if rank is None and of_comm and isinstance(nranks, int) and isinstance(group_rank, int):
            # A sub-communicator counts its own ranks: only the widest one tells the global rank.
            rank = group_rank if nranks >= (self.expected or 0) else None
        if rank is None:
            return
        if len(self.ranks) < 1 << 20:
            self.ranks.add(rank)
        if host and len(self._host_of) < 1 << 20:
            self._host_of[rank] = host
        width = nranks if isinstance(nranks, int) else 0
        if event.speaker.local_rank is not None and len(self._rank_of_local) < 1 << 20:
            self._see_local_rank((event.line.file, event.speaker.local_rank), rank, width)
        if pid is not None and len(self._rank_of_pid) < 1 << 20:
            self._rank_of_pid.setdefault(pid, set()).add(rank)
            if host and width >= self._rank_of.get((host, pid), (0, 0))[1]:
                self._rank_of[host, pid] = (rank, width)

    def _see_time(self, event: Event) -> None:
        """What the machine and the cluster report may lie long before the job, or after it."""
        time = event.time
        if time is not None and 0 < time < CALENDAR_END and event.dialect.partition("_")[0] not in OUTSIDE:
            first, last = self._times.get(time >= A_YEAR, (time, time))
            self._times[time >= A_YEAR] = min(first, time), max(last, time)

    def _see_local_rank(self, tag: tuple[str, int], rank: int, width: int) -> None:
        known, widest = self._rank_of_local.get(tag, (rank, width))
        if width > widest:
            self._rank_of_local[tag] = (rank, width)
        elif width == widest:
            self._rank_of_local[tag] = (rank if known == rank else None, width)

    def _see_start(self, event: Event) -> None:
        before = self.runs.spans
        self.runs.observe(event)
        if self.runs.spans > before:
            for steps in self.steps.values():
                steps.put_aside()

    def _see_process(self, event: Event) -> None:
        """A launcher tells of a process by its rank and its number; elsewhere it may name it by the number only."""
        rank, pid, host = (event.fields.get(name) for name in ("rank", "pid", "host"))
        if not isinstance(rank, int) or len(self._rank_of_pid) >= 1 << 20:
            return
        if isinstance(pid, int):
            self._rank_of_pid.setdefault(pid, set()).add(rank)
        if isinstance(host, str) and len(self.hosts) < MAX_NAMES:
            self.hosts.setdefault(self._host_of.setdefault(rank, short_host(host)))

    def _see_own_rank(self, event: Event) -> None:
        """The process told its rank: its other lines, with the number alone, are that rank's."""
        if event.rank is not None and event.speaker.pid is not None and len(self._rank_of_pid) < 1 << 20:
            self._rank_of_pid.setdefault(event.speaker.pid, set()).add(event.rank)

    def _see_tasks(self, event: Event) -> None:
        """Slurm tells on which host tasks ended; they are the ranks, unless each starts several of them."""
        ranks, host = event.fields.get("ranks"), short_host(event.host or "")
        if host and len(self.hosts) < MAX_NAMES:
            self.hosts.setdefault(host)
        if host and isinstance(ranks, tuple) and "elastic" not in self.dialects and len(self._host_of) < 1 << 20:
            for rank in ranks:
                if isinstance(rank, int):
                    self._host_of.setdefault(rank, host)

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

    def rank_of(self, event: Event) -> int | None:
        """The global rank that ``event`` is about, as far as the whole job's facts tell."""
        if event.rank is not None:
            return event.rank
        told = "named end" in event.means and "own end" not in event.means
        pid = event.fields.get("pid") if told else event.pid  # who tells of another's end has a pid of its own
        known = self.rank_at(short_host(event.host or ""), pid if isinstance(pid, int) else None)
        if known is not None:
            return known
        local = told_local_rank(event)
        if local is not None and len(self.hosts) < 2:
            known = self.rank_at("", event.pid)
            return local if known is None else known  # one node: its local ranks are the ranks
        if event.dialect == "kernel" and isinstance(bus := event.fields.get("bus_id"), str):
            return self.seats.rank_on_gpu(short_host(event.host or ""), bus, self)
        if event.kind == "slurm.task_exit" and "elastic" not in self.dialects:
            return _only(event.fields.get("ranks"))
        return self._rank_by_tag(event)

    def _rank_by_tag(self, event: Event) -> int | None:
        """The rank of the process that the launcher's tag names, else what the process itself calls its rank."""
        local = event.speaker.local_rank
        if local is None:
            return _rank_in_default_group(event)
        known = self._rank_of_local.get((event.line.file, local), (None, 0))[0]
        told = _rank_in_default_group(event) if known is None else known
        return None if told is not None and told < local else told

    def rank_at(self, host: str, pid: int | None) -> int | None:
        """The rank of the process ``pid``; where the host is not known, if only one process has that number."""
        if pid is None:
            return None
        if (host, pid) in self._rank_of:
            return self._rank_of[host, pid][0]
        known = [r for r in self._rank_of_pid.get(pid, ()) if not are_two_hosts(host, self._host_of.get(r))]
        return known[0] if len(known) == 1 else None

    def ranks_on(self, host: str) -> set[int]:
        """The ranks that are known to run on ``host``."""
        return {rank for rank, at in self._host_of.items() if at == host}

    def host_with(self, rank: int | None) -> str | None:
        """The host on which ``rank`` runs."""
        return self._host_of.get(rank) if rank is not None else None

    def ranks_placed(self) -> int:
        """Of how many ranks the host is known."""
        return len(self._host_of)

    def host_of(self, event: Event) -> str | None:
        """The host that ``event`` is about; the job's only host where there is just one."""
        rank = self.rank_of(event)
        if event.host or rank is None:
            return short_host(own_name(event) or event.host or "") or (
                next(iter(self.hosts)) if len(self.hosts) == 1 else None
            )
        return self._host_of.get(rank) or (next(iter(self.hosts)) if len(self.hosts) == 1 else None)

    def outlived(self, event: Event, rank: int | None, run: Callable[[Event], bool] | None = None) -> bool:
        """Whether the job went on well after ``event``: it ended well, or ``rank`` (or nobody by name) made steps.

        ``run`` says what counts; else what the same job did, in later attempts too.
        """
        if self.good_ends.outlast(event, run) or (run is None and self._done_later(event)):
            return True
        counts = run or functools.partial(self.runs.same_job, event)
        own = [*self.steps.values()] if rank is None else [s for r in (rank, None) if (s := self.steps.get(r))]
        return any(s.survived(event, lambda e: counts(e) and self._well_after(e, event)) for s in own)

    def _done_later(self, event: Event) -> bool:
        """Whether a later job in the file of ``event`` counted its steps to the end, and made no others since."""
        finished = self.good_ends.finished
        return finished is not None and event.order < finished.order and not self.runs.same_job(event, finished)

    def _well_after(self, later: Event, earlier: Event) -> bool:
        """Whether the clocks of two hosts, which may differ, leave no doubt about the order."""
        one, two = self.host_of(later), self.host_of(earlier)
        return one is None or two is None or one == two or self.surely_after(later, earlier)

    def seconds_between(self, earlier: Event, later: Event) -> tuple[float | None, float]:
        """The seconds from one event to the other (None: unknown), and how far that may be wrong."""
        return self.clocks.seconds(earlier, later, (self.host_of(earlier), self.host_of(later)))

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
        return "init" if doing or self.expected else "launch"

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
            rank = self.rank_of(event) if self._wanted(event) else None
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

    def _hosts_told(self) -> tuple[str, ...]:
        told = (h for h in self.hosts if h not in self._seen_on or any(map(self._wanted, self._seen_on[h])))
        return tuple(told) or tuple(self.hosts)

    def evidence(self, event: Event, why: str = "") -> Evidence:
        """``event``'s line as evidence."""
        return Evidence(event.line, self.rank_of(event), self.host_of(event), event.time, why)

    def summary(
        self,
        first_failure: Event | None,
        rank_table: tuple[RankRow, ...] = (),
        standings: tuple[Standing, ...] = (),
        *,
        truncated: bool,
    ) -> JobPicture:
        """The picture as the report shows it."""
        started, ended = self._times.get(True) or self._times.get(False) or (None, None)
        return JobPicture(
            ranks_expected=self.expected,
            ranks_seen=tuple(sorted(self.ranks)),
            hosts=self._hosts_told(),
            versions=tuple(self.versions.of_run(self._wanted)),
            launcher=self.launcher,
            first_failure=self.evidence(first_failure) if first_failure else None,
            last_progress=self.last_progress(),
            attempts=self.runs.count,
            truncated=truncated,
            rank_table=rank_table,
            groups=self.seats.groups(self),
            nodes=self.seats.nodes,
            ranks_per_node=self.seats.per_node,
            versions_apart=self.versions.apart(),
            environment=tuple(sorted(self.environment)),
            standings=standings,
            clocks=tuple(c for c in self.clocks.compared() if abs(c.ahead) > JITTER),
            started=started,
            ended=ended,
        )


def _any(_: Event) -> bool:
    return True


def _only(ranks: Value | None) -> int | None:
    """The one task that Slurm speaks of: it is a rank, unless each task starts several of them."""
    return ranks[0] if isinstance(ranks, tuple) and len(ranks) == 1 and isinstance(ranks[0], int) else None


def _rank_in_default_group(event: Event) -> int | None:
    """The rank that torch 2.2 and older print: it counts inside the process group, which mostly is the whole job."""
    rank = event.fields.get("group_rank", event.fields.get("aborted_rank"))
    of_torch = event.dialect == "c10d" or event.kind == "crash.terminate"
    return rank if isinstance(rank, int) and of_torch and "pg" not in event.fields else None

"""The ledger of deaths: how each process ended, as it and others tell, and which end came first.

Derived event (it stands on a line of the log that shows it):

- ``ledger.first_death``  rank, host, pid as far as known; signal, exit_code or exception; how (the same in a word);
  reporter (``itself`` or the dialect of who reports it)
  Where Slurm only says that a task failed and lists whom it terminated for that: the one task that is not listed
- ``ledger.first_exits``  ranks, exit_code, reporter: several processes, told together, ended by themselves
  before anybody began to end the job; which of them was first, nobody tells

An end is fallout, and never the first, if the process was told to end (SIGTERM and its like, an agent's own kill, all
that launchers report after they began to end the job), if it gave up waiting for others or lost them (time-outs of
the watchdog and the SIGABRT or exit code that follow, errors of closed connections), or if it reports another's end.
Where several ends are left and the log does not tell their order, or they look alike, nobody died first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.model import Event, Value
from logdoctor.reasoning.addresses import short_host
from logdoctor.reasoning.clocks import printed_after
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.fallout import may_be_fallout
from logdoctor.reasoning.picture import Picture
from logdoctor.regexes import later

TOLD_TO_END = frozenset({1, 2, 3, 13, 14, 15})
KILL, ABORT = 9, 6
CRASHES = frozenset({4, 8, 11})
SIGNALS = range(1, 65)
MAX_EVENTS = 4096
FEWEST_TERMINATED = 3
"""Of fewer, the list may well be cut."""
_LAUNCHERS = later(r"\A(?:\w+\.)*(?:ChildFailedError|ProcessExitedException|CalledProcessError)\b")
"""What launchers raise themselves, over the end of another process."""


Process = tuple[int | None, str | None, int | None, str]
"""Rank, host and pid, as far as they are told, and the file: each attempt of a process may have its own."""


class Death(Struct, frozen=True):
    """One process's end: who as far as known, how, and the line that tells it."""

    rank: int | None
    host: str | None
    pid: int | None
    signal: int | None
    exit_code: int | None
    exception: str
    event: Event

    @property
    def who(self) -> Value:
        """What tells this process from others."""
        return self.rank if self.rank is not None else f"{self.host}:{self.pid}"

    @property
    def how(self) -> str:
        """How it ended, in a word."""
        if self.signal is not None:
            return f"signal {self.signal}"
        return self.exception or (f"exit code {self.exit_code}" if self.exit_code is not None else self.event.kind)


class Ledger(Struct):
    """Folds the ends of processes; `derive` tells which came first."""

    own: dict[Process, Event] = field(default_factory=dict)
    reports: list[Event] = field(default_factory=list)
    waited: dict[Process, Event] = field(default_factory=dict)
    ended: set[int | None] = field(default_factory=set)
    endings: dict[str, Event] = field(default_factory=dict)
    """Where each file first tells that somebody ends the job."""
    task_failed: bool = False
    """Whether Slurm says that it ended a step for a task that failed."""

    def observe(self, event: Event) -> None:
        """Take one event in."""
        kind, means = event.kind, event.means
        if "job ends" in means and len(self.endings) < MAX_EVENTS:
            self.endings.setdefault(event.line.file, event)
            self.task_failed |= event.fields.get("reason") == "task failure"
        if "own end" in means or "end told" in means:
            self._see_death(event)
        elif "gave up" in means or (kind == "nccl.warn" and "peer" in event.fields):
            _keep(self.waited, event)
        elif kind == "elastic.sigterm":
            if len(self.ended) < MAX_EVENTS:
                self.ended.add(event.pid)
        elif "restart" in means:
            self._start_anew(event.line.file)

    def _start_anew(self, file: str) -> None:
        """What this file told before belongs to an attempt that is over."""
        self.own = {who: e for who, e in self.own.items() if e.line.file != file}
        self.waited = {who: e for who, e in self.waited.items() if e.line.file != file}
        self.reports = [e for e in self.reports if e.line.file != file]
        self.endings.pop(file, None)
        self.task_failed = False

    def _see_death(self, event: Event) -> None:
        if "end told" in event.means:
            if len(self.reports) < MAX_EVENTS:
                self.reports.append(event)
        elif event.level == "fatal" and not _LAUNCHERS.match(event.text):
            _keep(self.waited if may_be_fallout(event.text) else self.own, event)

    def derive(self, picture: Picture) -> Iterator[Event]:
        """The first death, if the log tells one."""
        waits: dict[int, list[Event]] = {}
        for event in picture.runs.of_the_last(self.waited.values()):
            if (rank := _rank(event, picture)) is not None:
                waits.setdefault(rank, []).append(event)
        told_of = picture.runs.of_the_last([*self.own.values(), *self.reports])
        all_told = [d for e in told_of for d in _deaths(e, picture)]
        deaths: dict[Value, Death] = {}
        for death in sorted(all_told, key=lambda d: d.event.order):
            if not self._is_fallout(death, waits):
                deaths.setdefault(death.who, death)
        first = _named(_first(_without_the_cleaned_up(list(deaths.values())), picture), list(deaths.values()))
        if first is not None and (first.rank is not None or first.host):
            yield _derived(first)
        elif first is None and deaths:
            yield from self._first_exits(min(deaths.values(), key=lambda d: d.event.order).event)
        elif self.task_failed:
            yield from _spared(all_told)

    def _first_exits(self, event: Event) -> Iterator[Event]:
        """The ends that one line tells of several processes, if the job was ended only then."""
        ending, code = self.endings.get(event.line.file), event.fields.get("exit_code")
        if "end told" in event.means and ending is not None and code and printed_after(ending, event):
            known = {name: event.fields[name] for name in ("ranks", "exit_code") if name in event.fields}
            yield derived("first_exits", event, {**known, "reporter": event.dialect}, spoken=False)

    def _is_fallout(self, death: Death, waits: Mapping[int, list[Event]]) -> bool:
        """Whether this end only follows from another; ``waits``: where each rank gave up on others."""
        if death.signal in TOLD_TO_END or (death.pid is not None and death.pid in self.ended):
            return True
        own = "own end" in death.event.means
        if death.signal in (None, ABORT) and not own and self.waited:
            one_of_them = not all(printed_after(e, death.event) for e in self.waited.values())
            return one_of_them and not self._others_were_told(death)
        if (own or death.signal == KILL) and death.rank is not None and death.rank in waits:
            return not all(printed_after(e, death.event) for e in waits[death.rank])
        ending = self.endings.get(death.event.line.file)
        late = ending is not None and printed_after(death.event, ending)
        return late and (death.signal == KILL or (death.signal is None and death.event.dialect == "slurm"))

    def _others_were_told(self, death: Death) -> bool:
        """Whether all who gave up were told by Horovod that a rank had left, and this one was not."""
        told = {e.rank for e in self.waited.values() if e.kind == "frameworks.shutdown"}
        return len(told) == len(self.waited) and death.rank not in (None, *told) and None not in told


def _spared(told: Sequence[Death]) -> Iterator[Event]:
    """The one task that is not among those which Slurm terminated because a task had failed."""
    ended = {d.rank for d in told if d.rank is not None and d.signal in TOLD_TO_END and d.event.dialect == "slurm"}
    left = set(range(max(ended, default=0))) - ended
    if len(ended) < FEWEST_TERMINATED or len(left) != 1:
        return
    hosts = {d.host for d in told}
    fields: dict[str, Value] = {"rank": left.pop(), "how": "task failure", "reporter": "slurm"}
    fields |= {"host": short_host(host)} if len(hosts) == 1 and (host := hosts.pop()) else {}
    yield derived("first_death", told[0].event, fields, spoken=False)


def _keep(table: dict[Process, Event], event: Event) -> None:
    """Remember the first such event of this process; its further lines are not needed."""
    who = (event.rank, event.host, event.pid, event.line.file)
    if who not in table and len(table) < MAX_EVENTS:
        table[who] = event.without_lines()


def _rank(event: Event, picture: Picture) -> int | None:
    rank = picture.places.rank_of(event)
    group_rank = event.fields.get("group_rank")
    return rank if rank is not None else group_rank if isinstance(group_rank, int) else None


def _deaths(event: Event, picture: Picture) -> Iterator[Death]:
    """The ends that one record tells of."""
    fields = event.fields
    code = fields.get("exit_code")
    exit_code = code if isinstance(code, int) else None
    by_oom_killer = event.kind == "kernel.oom_kill" or fields.get("reason") == "oom"
    signal = (
        KILL
        if by_oom_killer
        else _signal(fields.get("signal"), exit_code, waited_status=event.kind == "mpich.bad_termination")
    )
    if signal is None and exit_code == 0:
        return
    exception = str(fields.get("exception", "")) if "own end" in event.means else ""
    ranks = fields.get("ranks")
    listed: list[int | None] = [_rank(event, picture)]
    if isinstance(ranks, tuple) and "elastic" not in picture.dialects:  # with it a task is an agent of several ranks
        listed = [r for r in ranks if isinstance(r, int)]
    if listed == [None] and event.kind == "openmpi.exit_code":
        return  # a headline over the report that names the rank
    pid = fields.get("pid", event.speaker.pid if "own end" in event.means else None)
    for rank in listed:
        host = picture.places.host_of(event) or picture.places.host_with(rank)
        yield Death(rank, host, pid if isinstance(pid, int) else None, signal, exit_code, exception, event)


def _signal(value: Value | None, exit_code: int | None, *, waited_status: bool) -> int | None:
    if isinstance(value, int) and value in SIGNALS:
        return value
    if exit_code is None:
        return None
    number = -exit_code if exit_code < 0 else exit_code - 128 if exit_code > 128 else exit_code if waited_status else 0
    return number if number in SIGNALS and (not waited_status or number in (4, 6, 7, 8, 9, 11, 15)) else None


def _without_the_cleaned_up(deaths: list[Death]) -> list[Death]:
    """Not those that a launcher of MPICH killed, if it names a rank that crashed: it lists them in any order."""
    named = [d for d in deaths if d.event.kind == "mpich.rank_died"]
    if not any(d.signal in CRASHES for d in named):
        return deaths
    return [d for d in deaths if d not in named or d.signal != KILL]


def _first(deaths: list[Death], picture: Picture) -> Death | None:
    """The one that came before all others and ended otherwise; None where the log does not tell."""
    if not deaths:
        return None
    first = min(deaths, key=lambda d: d.event.order)
    others = [d for d in deaths if d is not first]
    return first if all(d.how != first.how and picture.surely_after(d.event, first.event) for d in others) else None


def _named(first: Death | None, deaths: list[Death]) -> Death | None:
    """``first``, an exception that is nobody's, with the rank of the only other end: a launcher tells of the same."""
    if first is None or first.rank is not None or not first.exception or len(deaths) != 2:
        return first
    told = next(d for d in deaths if d is not first)
    same = told.signal is None and "end told" in told.event.means and first.host in (None, told.host)
    return replace(first, rank=told.rank, host=told.host) if same else first


def _derived(death: Death) -> Event:
    event = death.event
    reporter = "itself" if "own end" in event.means else event.dialect
    fields: dict[str, Value | None] = {
        "rank": death.rank,
        "host": short_host(death.host) if death.host else None,
        "pid": death.pid,
        "signal": death.signal,
        "exit_code": death.exit_code,
        "exception": death.exception,
        "how": death.how,
        "reporter": reporter,
    }
    return derived("first_death", event, fields, spoken=False)

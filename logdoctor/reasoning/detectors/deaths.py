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

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.causality.fallout import may_be_fallout
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import printed_after

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
    record: Record

    @property
    def who(self) -> Value:
        """What tells this process from others."""
        return self.rank if self.rank is not None else f"{self.host}:{self.pid}"

    @property
    def how(self) -> str:
        """How it ended, in a word."""
        if self.signal is not None:
            return f"signal {self.signal}"
        return self.exception or (f"exit code {self.exit_code}" if self.exit_code is not None else self.record.kind)


class Detector(Struct):
    """Folds the ends of processes; `derive` tells which came first."""

    own: dict[Process, Record] = field(default_factory=dict)
    reports: list[Record] = field(default_factory=list)
    waited: dict[Process, Record] = field(default_factory=dict)
    ended: set[int | None] = field(default_factory=set)
    endings: dict[str, Record] = field(default_factory=dict)
    """Where each file first tells that somebody ends the job."""
    task_failed: bool = False
    """Whether Slurm says that it ended a step for a task that failed."""

    def observe(self, record: Record) -> None:
        """Take one event in."""
        kind, signs = record.kind, record.signs
        if "job ends" in signs and len(self.endings) < MAX_EVENTS:
            self.endings.setdefault(record.line.file, record)
            self.task_failed |= record.fields.get("reason") == "task failure"
        if "own end" in signs or "end told" in signs:
            self._see_death(record)
        elif "gave up" in signs or (kind == "nccl.warn" and "peer" in record.fields):
            _keep(self.waited, record)
        elif kind == "elastic.sigterm":
            if len(self.ended) < MAX_EVENTS:
                self.ended.add(record.pid)
        elif "restart" in signs:
            self._start_anew(record.line.file)

    def _start_anew(self, file: str) -> None:
        """What this file told before belongs to an attempt that is over."""
        self.own = {who: e for who, e in self.own.items() if e.line.file != file}
        self.waited = {who: e for who, e in self.waited.items() if e.line.file != file}
        self.reports = [e for e in self.reports if e.line.file != file]
        self.endings.pop(file, None)
        self.task_failed = False

    def _see_death(self, record: Record) -> None:
        if "end told" in record.signs:
            if len(self.reports) < MAX_EVENTS:
                self.reports.append(record)
        elif record.level == "fatal" and not _LAUNCHERS.match(record.text):
            _keep(self.waited if may_be_fallout(record.text) else self.own, record)

    def derive(self, state: JobState) -> Iterator[Record]:
        """The first death, if the log tells one."""
        waits: dict[int, list[Record]] = {}
        for record in state.runs.select_last_run(self.waited.values()):
            if (rank := _rank(record, state)) is not None:
                waits.setdefault(rank, []).append(record)
        told_of = state.runs.select_last_run([*self.own.values(), *self.reports])
        all_told = [d for e in told_of for d in _deaths(e, state)]
        deaths: dict[Value, Death] = {}
        for death in sorted(all_told, key=lambda d: d.record.order):
            if not self._is_fallout(death, waits):
                deaths.setdefault(death.who, death)
        first = _named(_first(_without_the_cleaned_up(list(deaths.values())), state), list(deaths.values()))
        if first is not None and (first.rank is not None or first.host):
            yield _derived(first)
        elif first is None and deaths:
            yield from self._first_exits(min(deaths.values(), key=lambda d: d.record.order).record)
        elif self.task_failed:
            yield from _spared(all_told)

    def _first_exits(self, record: Record) -> Iterator[Record]:
        """The ends that one line tells of several processes, if the job was ended only then."""
        ending, code = self.endings.get(record.line.file), record.fields.get("exit_code")
        if "end told" in record.signs and ending is not None and code and printed_after(ending, record):
            known = {name: record.fields[name] for name in ("ranks", "exit_code") if name in record.fields}
            yield derived("first_exits", record, {**known, "reporter": record.format}, spoken=False)

    def _is_fallout(self, death: Death, waits: Mapping[int, list[Record]]) -> bool:
        """Whether this end only follows from another; ``waits``: where each rank gave up on others."""
        if death.signal in TOLD_TO_END or (death.pid is not None and death.pid in self.ended):
            return True
        own = "own end" in death.record.signs
        if death.signal in (None, ABORT) and not own and self.waited:
            one_of_them = not all(printed_after(e, death.record) for e in self.waited.values())
            return one_of_them and not self._others_were_told(death)
        if (own or death.signal == KILL) and death.rank is not None and death.rank in waits:
            return not all(printed_after(e, death.record) for e in waits[death.rank])
        ending = self.endings.get(death.record.line.file)
        late = ending is not None and printed_after(death.record, ending)
        return late and (death.signal == KILL or (death.signal is None and death.record.format == "slurm"))

    def _others_were_told(self, death: Death) -> bool:
        """Whether all who gave up were told by Horovod that a rank had left, and this one was not."""
        told = {e.rank for e in self.waited.values() if e.kind == "frameworks.shutdown"}
        return len(told) == len(self.waited) and death.rank not in (None, *told) and None not in told


def _spared(told: Sequence[Death]) -> Iterator[Record]:
    """The one task that is not among those which Slurm terminated because a task had failed."""
    ended = {d.rank for d in told if d.rank is not None and d.signal in TOLD_TO_END and d.record.format == "slurm"}
    left = set(range(max(ended, default=0))) - ended
    if len(ended) < FEWEST_TERMINATED or len(left) != 1:
        return
    hosts = {d.host for d in told}
    fields: dict[str, Value] = {"rank": left.pop(), "how": "task failure", "reporter": "slurm"}
    fields |= {"host": short_host(host)} if len(hosts) == 1 and (host := hosts.pop()) else {}
    yield derived("first_death", told[0].record, fields, spoken=False)


def _keep(table: dict[Process, Record], record: Record) -> None:
    """Remember the first such event of this process; its further lines are not needed."""
    who = (record.rank, record.host, record.pid, record.line.file)
    if who not in table and len(table) < MAX_EVENTS:
        table[who] = record.without_lines()


def _rank(record: Record, state: JobState) -> int | None:
    rank = state.places.rank_of(record)
    group_rank = record.fields.get("group_rank")
    return rank if rank is not None else group_rank if isinstance(group_rank, int) else None


def _deaths(record: Record, state: JobState) -> Iterator[Death]:
    """The ends that one record tells of."""
    fields = record.fields
    code = fields.get("exit_code")
    exit_code = code if isinstance(code, int) else None
    by_oom_killer = record.kind == "kernel.oom_kill" or fields.get("reason") == "oom"
    signal = (
        KILL
        if by_oom_killer
        else _signal(fields.get("signal"), exit_code, waited_status=record.kind == "mpich.bad_termination")
    )
    if signal is None and exit_code == 0:
        return
    exception = str(fields.get("exception", "")) if "own end" in record.signs else ""
    ranks = fields.get("ranks")
    listed: list[int | None] = [_rank(record, state)]
    if isinstance(ranks, tuple) and "elastic" not in state.formats:  # with it a task is an agent of several ranks
        listed = [r for r in ranks if isinstance(r, int)]
    if listed == [None] and record.kind == "openmpi.exit_code":
        return  # a headline over the report that names the rank
    pid = fields.get("pid", record.source.pid if "own end" in record.signs else None)
    for rank in listed:
        host = state.places.host_of(record) or state.places.host_with(rank)
        yield Death(rank, host, pid if isinstance(pid, int) else None, signal, exit_code, exception, record)


def _signal(value: Value | None, exit_code: int | None, *, waited_status: bool) -> int | None:
    if isinstance(value, int) and value in SIGNALS:
        return value
    if exit_code is None:
        return None
    number = -exit_code if exit_code < 0 else exit_code - 128 if exit_code > 128 else exit_code if waited_status else 0
    return number if number in SIGNALS and (not waited_status or number in (4, 6, 7, 8, 9, 11, 15)) else None


def _without_the_cleaned_up(deaths: list[Death]) -> list[Death]:
    """Not those that a launcher of MPICH killed, if it names a rank that crashed: it lists them in any order."""
    named = [d for d in deaths if d.record.kind == "mpich.rank_died"]
    if not any(d.signal in CRASHES for d in named):
        return deaths
    return [d for d in deaths if d not in named or d.signal != KILL]


def _first(deaths: list[Death], state: JobState) -> Death | None:
    """The one that came before all others and ended otherwise; None where the log does not tell."""
    if not deaths:
        return None
    first = min(deaths, key=lambda d: d.record.order)
    others = [d for d in deaths if d is not first]
    return first if all(d.how != first.how and state.surely_after(d.record, first.record) for d in others) else None


def _named(first: Death | None, deaths: list[Death]) -> Death | None:
    """``first``, an exception that is nobody's, with the rank of the only other end: a launcher tells of the same."""
    if first is None or first.rank is not None or not first.exception or len(deaths) != 2:
        return first
    told = next(d for d in deaths if d is not first)
    same = told.signal is None and "end told" in told.record.signs and first.host in (None, told.host)
    return replace(first, rank=told.rank, host=told.host) if same else first


def _derived(death: Death) -> Record:
    record = death.record
    reporter = "itself" if "own end" in record.signs else record.format
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
    return derived("first_death", record, fields, spoken=False)

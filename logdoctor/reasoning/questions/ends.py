"""Ends of processes, and the end that came first.

An end is fallout, and never the first, in these cases:

- The process was ended by SIGTERM or the like, by its agent, or by a launcher ending the job.
- The process gave up waiting for others or lost them. Such ends are time-outs of the watchdog, the SIGABRT or exit
  code that follows, and errors of closed connections. Complaints of others do not make an end fallout: the process
  that said nothing while the others lost it is the one that died.
- The line reports the end of another process.

If several ends are left, they must differ and the log must give their order. Otherwise no end is the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_of_other
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import printed_after
from logdoctor.reasoning.lifecycle.ends import SIGKILL, End, end_of
from logdoctor.reasoning.processes import Process, Seat, name_process, process_of
from logdoctor.reasoning.questions import asks, first_of_each
from logdoctor.reasoning.timeline import Timeline

TERMINATION_SIGNALS = frozenset({1, 2, 3, 13, 14, 15})
SIGABRT = 6
CRASH_SIGNALS = frozenset({4, 8, 11})
PYTHON_FAILED = 1
"""Exit code of Python after an exception that nobody caught."""
_LAUNCHER_ERROR = later(r"\A(?:\w+\.)*(?:ChildFailedError|ProcessExitedException|CalledProcessError)\b")
"""Exceptions that launchers raise because another process ended."""


class Death(Struct, frozen=True):
    """Process that ended, as far as the log names it, and its end."""

    rank: int | None
    host: str | None
    pid: int | None
    end: End

    @property
    def record(self) -> Record:
        return self.end.record

    @property
    def process(self) -> Process:
        return name_process(self.rank, self.host, self.pid, self.record.line.file)

    @property
    def outcome(self) -> str:
        """Text such as ``signal 9``, ``ValueError`` or ``exit code 1``."""
        end = self.end
        if end.signal is not None:
            return f"signal {end.signal}"
        return end.exception or (f"exit code {end.code}" if end.code is not None else self.record.kind)


class Fallout(Struct, frozen=True):
    """Records from which the ends of processes follow."""

    waits: Sequence[Record]
    """First record of each process that gave up waiting or lost its peers."""
    waits_of: Mapping[int, Sequence[Record]]
    """Those of the last run by rank."""
    terminated: frozenset[int | None]
    """Processes that their launcher ended, by pid."""
    job_ends: Mapping[str, Record]
    """First record of each file that says that the job is being ended."""
    aborted: frozenset[int | None]
    """Ranks that ended by SIGABRT."""
    world: int
    """Number of ranks that the job has at least."""

    def holds(self, death: Death) -> bool:
        """Return whether the end only follows from another."""
        if death.end.signal in TERMINATION_SIGNALS or (death.pid is not None and death.pid in self.terminated):
            return True
        is_own_end = death.record.reports_own_end
        if death.end.signal in (None, SIGABRT) and not is_own_end and self.waits:
            return _follows(death, self.waits if self._is_unheard_abort(death) else self._complaints_of(death))
        if (is_own_end or death.end.signal == SIGKILL) and death.rank is not None and death.rank in self.waits_of:
            return _follows(death, self.waits_of[death.rank])
        job_end = self.job_ends.get(death.record.line.file)
        ends_others = death.end.signal == SIGKILL or (death.end.signal is None and death.record.tells("tasks"))
        return ends_others and job_end is not None and printed_after(death.record, job_end)

    def _complaints_of(self, death: Death) -> list[Record]:
        """Return what the process that ended said of its peers. A complaint without a name may be of any process."""
        if death.rank is None:
            return [*self.waits]
        named = {e.order for of_one in self.waits_of.values() for e in of_one}
        nameless = [e for e in self.waits if e.order not in named and _may_end_so(death.end, e)]
        return [*self.waits_of.get(death.rank, ()), *nameless]

    def _is_unheard_abort(self, death: Death) -> bool:
        """Return whether the watchdog may have ended a rank whose own words are missing.

        It aborts all who wait. So ranks that said so aborted too, or ranks are left that said nothing.
        """
        waited = {rank for rank, of_one in self.waits_of.items() if any(e.has("waits") for e in of_one)}
        unheard = {*range(self.world)} - {*self.waits_of, death.rank}
        return death.end.signal == SIGABRT and bool(waited and (unheard or waited & (self.aborted - {death.rank})))


@asks("is ended", "fails", "gives up", "nccl.warn")
def first_death(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield the first death, if the log gives it, each on a log line that shows it.

    - ``ledger.first_death``  rank, local_rank, host, pid if known, signal, exit_code or exception, how (the same as
      text), reporter (``itself`` or the format of the reporter), complaints (number of processes that lost it, if
      another program tells its end).
    - ``ledger.first_exits``  ranks, exit_code, reporter. Several processes in one line ended by themselves before the
      job was ended. The log does not say which of them was first.
    """
    records = t.of("is ended", "fails", "gives up", "nccl.warn")
    own = first_of_each((e for e in records if _ends_itself(e) and not e.tells("about peers")), _process).values()
    ends = state.runs.select_last_run([*own, *(e for e in records if e.reports_end_of_other)])
    told = sorted((d for e in ends for d in _deaths(e, state)), key=lambda d: d.record.order)
    fallout = _fallout(records, frozenset(d.rank for d in told if d.end.signal == SIGABRT), state)
    deaths: dict[Process, Death] = {}
    for death in told:
        if not fallout.holds(death):
            deaths.setdefault(death.process, death)
    left = list(deaths.values())
    first = _with_rank(_first(_without_cleanup_kills(left), state), left)
    if first is not None and (first.rank is not None or first.host):
        yield _first_death(first, len(fallout.waits), state)
    elif first is None and left:
        yield from _first_exits(left[0].record, fallout.job_ends)


def _fallout(records: Sequence[Record], aborted: frozenset[int | None], state: JobState) -> Fallout:
    ended = [e for e in records if not (e.reports_own_end or e.reports_end_of_other)]
    waits = first_of_each((e for e in records if _gives_up(e)), _process).values()
    waits_of: dict[int, list[Record]] = {}
    for record in state.runs.select_last_run(waits):
        if (rank := _rank(record, state)) is not None:
            waits_of.setdefault(rank, []).append(record)
    return Fallout(
        [*waits],
        waits_of,
        frozenset(e.pid for e in ended if e.has("is ended", "named") and not _gives_up(e)),
        first_of_each((e for e in records if e.has("is ended", "job")), lambda e: e.line.file),
        aborted,
        state.processes.min_world_size,
    )


def _ends_itself(record: Record) -> bool:
    reported = record.reports_own_end and not record.reports_end_of_other
    return reported and record.level == "fatal" and not _LAUNCHER_ERROR.match(record.text)


def _gives_up(record: Record) -> bool:
    """Return whether a process gives up waiting for others, or lost them."""
    if record.reports_own_end or record.reports_end_of_other:
        return _ends_itself(record) and record.tells("about peers")
    return record.has("gives up") or (record.kind == "nccl.warn" and "peer" in record.fields)


def _process(record: Record) -> tuple[Process, str, Value | None]:
    """Return the process and the file, because each attempt may have a file of its own.

    Of a process without a name the number in its group tells it from others.
    """
    return process_of(record), record.line.file, record.fields.get("group_rank")


def _follows(death: Death, waits: Sequence[Record]) -> bool:
    return not all(printed_after(e, death.record) for e in waits)


def _may_end_so(end: End, said: Record) -> bool:
    """Return whether a process that said this may have ended so. Python ends with 1 after an exception."""
    return end.code in (None, PYTHON_FAILED) or "exception" not in said.fields


def _first_exits(record: Record, job_ends: Mapping[str, Record]) -> Iterator[Record]:
    """Return the ends in a line that came before the job was ended."""
    job_end, code = job_ends.get(record.line.file), record.fields.get("exit_code")
    if record.reports_end_of_other and job_end is not None and code and printed_after(job_end, record):
        ranks = record.fields.get("ranks")
        yield derive_of_other("first_exits", record, ranks=ranks, exit_code=code, reporter=record.format)


def _rank(record: Record, state: JobState) -> int | None:
    rank = state.processes.rank_of(record)
    group_rank = record.fields.get("group_rank")
    return rank if rank is not None else group_rank if isinstance(group_rank, int) else None


def _deaths(record: Record, state: JobState) -> Iterator[Death]:
    """Return the ends that a record reports."""
    end = end_of(record)
    if end.is_well:
        return
    ranks = state.processes.task_ranks(record) or (_rank(record, state),)
    if ranks == (None,) and record.kind == "openmpi.exit_code":
        return  # headline of the report that names the rank
    pid = record.fields.get("pid", record.source.pid if record.reports_own_end else None)
    for rank in ranks:
        host = state.processes.host_of(record) or state.processes.host_with(rank)
        yield Death(rank, host, pid if isinstance(pid, int) else None, end)


def _without_cleanup_kills(deaths: list[Death]) -> list[Death]:
    """Drop ranks that MPICH's launcher killed beside a crashed rank.

    It lists both in any order, so the order says nothing.
    """
    reported = [d for d in deaths if d.record.is_last_word and d.record.reports_end_of_other]
    if not any(d.end.signal in CRASH_SIGNALS for d in reported):
        return deaths
    return [d for d in deaths if d not in reported or d.end.signal != SIGKILL]


def _first(deaths: list[Death], state: JobState) -> Death | None:
    """Return the earliest death, if its outcome differs from all others.

    The result is None if the log does not give the order.
    """
    if not deaths:
        return None
    first = min(deaths, key=lambda d: d.record.order)
    others = [d for d in deaths if d is not first]
    is_first = all(d.outcome != first.outcome and state.surely_after(d.record, first.record) for d in others)
    return first if is_first else None


def _with_rank(first: Death | None, deaths: list[Death]) -> Death | None:
    """Return ``first`` with the rank of the only other end.

    This holds if ``first`` tells an exception or a failed assertion without a rank and a launcher reports the same end.
    """
    if first is None or first.rank is not None or len(deaths) != 2 or not first.record.reports_own_end:
        return first
    report = next(d for d in deaths if d is not first)
    fits = report.end.signal is None if first.end.exception else report.end.signal in CRASH_SIGNALS | {SIGABRT}
    is_same_end = fits and report.record.reports_end_of_other and first.host in (None, report.host)
    return replace(first, rank=report.rank, host=report.host) if is_same_end else first


def _first_death(death: Death, complaints: int, state: JobState) -> Record:
    record = death.record
    told = not record.reports_own_end
    seat = state.processes.seats().get(-1 if death.rank is None else death.rank, Seat())
    return derive_of_other(
        "first_death",
        record,
        rank=death.rank,
        local_rank=record.fields.get("local_rank", seat.local_rank),
        host=short_host(death.host or ""),
        pid=death.pid if death.pid is not None else seat.pid,
        signal=death.end.signal,
        exit_code=death.end.code,
        exception=death.end.exception,
        how=death.outcome,
        reporter=record.format if told else "itself",
        complaints=complaints if told and complaints else None,
    )

"""The rank table: for each rank where it runs, how far it got, its first failure, and its part in the whole.

Folded while the events stream by; memory is bounded by how many speakers and ranks are kept.  What the log does not
tell stays empty: a rank of which nothing is heard is ``missing``, and only its neighbours' voices make it ``silent``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import Finding, Moment, Part, RankRow, Record, Role, Rule
from logdoctor.pack.regexes import later
from logdoctor.reasoning.causality.ranking import Ranked
from logdoctor.reasoning.findings.culprits import CULPRITS_NAMED
from logdoctor.reasoning.findings.findings import Found
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.identity.places import Seat
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.outlived import outlived

MAX_SPEAKERS = 1 << 14
MAX_ROWS = 1 << 12
FAILURES_KEPT = 3
TEXT_KEPT = 1000
OF_BLAMED: tuple[Role, ...] = ("cause", "symptom", "fallback", "benign")
OF_OTHERS: tuple[Role, ...] = ("symptom", "cause", "fallback", "benign")
_WORK = later(r"SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)")
Who = tuple[int | None, str | None, int | None]
"""Rank, host and pid as printed."""


class Heard(Struct):
    """When somebody was heard last: the file, the place in reading order, the time."""

    file: str
    line: int
    order: int
    time: float | None

    @property
    def moment(self) -> Moment:
        """The place and time, to show."""
        return Moment(self.file, self.line, self.time)

    def before(self, record: Record) -> bool:
        """Whether that was before ``event`` or is the same; what cannot be told is not."""
        if self.file == record.line.file:
            return self.order <= record.order
        return self.time is not None and record.time is not None and self.time <= record.time


class Failure(Struct, frozen=True):
    """A rank's first failure and the signature of the rule that knows it ("": none)."""

    record: Record
    signature: str = ""
    role: Role = "fallback"


class RankTable:
    """Folds what each source said last and what failed first; `rows` makes the table of it."""

    def __init__(self) -> None:
        """Start with nobody heard."""
        self._heard: dict[Who, Heard] = {}
        self._failures: dict[tuple[Who, int], list[Record]] = {}

    def observe(self, record: Record, span: int) -> None:
        """Take one event in, of the attempt or job of this number in its file."""
        source = record.source
        if source.rank is not None or source.pid is not None:
            who = (source.rank, source.host, source.pid)
            heard = self._heard.get(who)
            if heard is not None:
                heard.file, heard.line, heard.order = record.line.file, record.line.number, record.order
                heard.time = record.time
            elif len(self._heard) < MAX_SPEAKERS:
                self._heard[who] = Heard(record.line.file, record.line.number, record.order, record.time)
        if record.failing:
            self._see_failure(record, span)

    def _see_failure(self, record: Record, span: int) -> None:
        who = (record.rank, record.host, record.pid), span
        kept = self._failures.get(who)
        if kept is None:
            if len(self._failures) >= MAX_SPEAKERS:
                return
            kept = self._failures[who] = []
        if len(kept) < FAILURES_KEPT:
            long = record.lines or len(record.text) > TEXT_KEPT
            kept.append(replace(record, lines=(), text=record.text[:TEXT_KEPT]) if long else record)

    # ── the table ───────────────────────────────────────────────────────────────────────────────────────────────

    def rows(
        self, state: JobState, ranked: Ranked, rules: Sequence[Rule], matches: Found, harmless: Collection[int]
    ) -> tuple[RankRow, ...]:
        """The table of a job that failed; empty where fewer than two ranks are known or all are alike and blank."""
        seats = state.places.seats()
        answer = _Answer(ranked, seats, state)
        heard = self._last_words(state)
        failures = self._first_failures(state, _known(rules, matches, ranked), harmless, answer.ranks)
        known = heard.keys() | failures.keys() | answer.ranks | {r for r in state.steps if r is not None}
        if len(known) < 2:
            return ()
        everyone = sorted({*range(min(state.places.expected or 0, MAX_ROWS)), *known})[:MAX_ROWS]
        began = min((f.record for f in failures.values()), key=_moment, default=None)
        near, steps = _Neighbours(known, heard, state.places.per_node), state.last_steps()
        rows = []
        for rank in everyone:
            failure = failures.get(rank)
            if rank in answer.ranks and (failure is None or not failure.signature):
                failure = answer.failure or failure
            part = answer.part(rank, failure) or _unhurt(rank, heard.get(rank), began, near)
            row = _row(rank, part, seats.get(rank, Seat()), failure, answer, state)
            if rank in steps:
                row = replace(row, last_progress=_progress(steps[rank]), progressed=_moment_of(steps[rank]))
            rows.append(replace(row, heard=heard[rank].moment) if rank in heard else row)
        telling = any(row.failure or row.first_failure or row.last_progress or row.role == "culprit" for row in rows)
        return tuple(rows) if telling else ()

    def _last_words(self, state: JobState) -> dict[int, Heard]:
        last: dict[int, Heard] = {}
        for (rank, host, pid), heard in self._heard.items():
            if rank is None and pid is not None:
                rank = state.places.rank_at(short_host(host or ""), pid)
            if rank is not None and (rank not in last or last[rank].order < heard.order):
                last[rank] = heard
        return last

    def _first_failures(
        self, state: JobState, known: Iterable[Failure], harmless: Collection[int], blamed: Collection[int]
    ) -> dict[int, Failure]:
        """Each rank's first failure: of those that a rule knows and that the job did not outlive, else of all.

        Where two rules know a line, that of a blamed rank shows the cause, and that of another what it saw of it.
        """
        best: dict[int, tuple[int, int]] = {}
        first: dict[int, Failure] = {}
        plain = [Failure(record) for kept in self._failures.values() for record in kept]
        told = [f for f in (*known, *plain) if f.record.order not in harmless]
        of_last = {e.order for e in state.runs.of_the_last(f.record for f in told)}
        for failure in (f for f in told if f.record.order in of_last):
            rank = state.places.rank_of(failure.record)
            if rank is None or (not failure.signature and (rank in first or outlived(failure.record, rank, state))):
                continue
            merit = failure.record.order, (OF_BLAMED if rank in blamed else OF_OTHERS).index(failure.role)
            if rank not in best or merit < best[rank]:
                best[rank], first[rank] = merit, failure
        return first


class _Answer:
    """Whom the answer blames, and what that rank did not do."""

    def __init__(self, ranked: Ranked, seats: Mapping[int, Seat], state: JobState) -> None:
        finding = ranked.causes[0] if ranked.causes else None
        self.ranks = _blamed(finding, seats) if finding else set()
        record = finding.records[0] if finding else None
        derived = record is not None and record.format == "ledger"
        self.never_started = _never_started(record) if record and derived else ""
        self.busy_with = _busy_with(record) if record and derived else ""
        told = record is not None and not derived and state.places.rank_of(record) in (None, *self.ranks)
        self.failure = Failure(record, finding.rule.signature) if finding and record and told else None
        """The decisive line, where somebody else tells of the failure: it stands for a blamed rank that is mute."""

    def part(self, rank: int, failure: Failure | None) -> Part | None:
        """What is plain from the answer and the rank's own failure."""
        if rank in self.ranks:
            return "culprit"
        if failure is None:
            return None
        return "victim" if self.ranks else "failed"


def _blamed(finding: Finding, seats: Mapping[int, Seat]) -> set[int]:
    """The ranks that the finding blames; where it blames hosts only, and not all of them, the ranks on these."""
    rule, named, hosts = finding.rule, set(finding.culprit.ranks), set(finding.culprit.hosts)
    told = "blamed" in finding.values
    if not told and rule.culprit.get("ranks", "speaker") == "speaker":
        if rule.role == "symptom":
            return set()  # who reports that it waited in vain is no culprit
        if len(named) >= CULPRITS_NAMED:
            return named | set(finding.ranks)
    by_field = rule.culprit.get("hosts", "speaker") not in ("speaker", "alone", "nobody")
    only_hosts = not named and (told or rule.action == "exclude" or by_field)
    if not only_hosts and not (told and len(named) >= CULPRITS_NAMED):
        return named
    on = {rank: short_host(seat.host) for rank, seat in seats.items() if seat.host}
    return named | {rank for rank, host in on.items() if host in hosts} if set(on.values()) - hosts else named


def _never_started(record: Record) -> str:
    """The collective that the blamed rank had not started while others waited in it."""
    lacking = record.kind == "ledger.missing_rank" or record.fields.get("phase") == "enqueue"
    return _collective(record) if lacking else ""


def _busy_with(record: Record) -> str:
    """The work that the blamed rank was still at."""
    busy = record.kind == "ledger.straggler" and record.fields.get("phase") != "enqueue"
    return str(record.fields.get("work", "")) if busy else ""


class _Neighbours(Struct, frozen=True):
    """Who is heard beside whom: only where another rank of the same node is heard is a rank's silence its own."""

    known: Collection[int]
    heard: Mapping[int, Heard]
    per_node: int | None

    def has_neighbour(self, rank: int) -> bool:
        """Whether ranks of its node are heard, in a file that is not of one rank alone."""
        if not self.per_node:
            return False
        first = rank - rank % self.per_node
        files = [self.heard[r].file for r in range(first, first + self.per_node) if r in self.heard]
        return len(files) > len(set(files))


def _unhurt(rank: int, heard: Heard | None, began: Record | None, near: _Neighbours) -> Part:
    """The part of a rank that nobody blames and that reports no failure."""
    if heard is None:
        return "silent" if rank in near.known or near.has_neighbour(rank) else "missing"
    return "silent" if began is not None and heard.before(began) else "bystander"


def _row(rank: int, part: Part, seat: Seat, failure: Failure | None, answer: _Answer, state: JobState) -> RankRow:
    only_host = next(iter(state.places.hosts)) if len(state.places.hosts) == 1 else None
    return RankRow(
        rank=rank,
        role=part,
        host=short_host(seat.host or "") or state.places.host_with(rank) or (only_host if part != "missing" else None),
        local_rank=seat.local_rank,
        pid=seat.pid,
        gpu=seat.gpu,
        bus_id=seat.bus_id,
        failure=failure.signature if failure else "",
        first_failure=state.evidence(failure.record) if failure else None,
        waits_for=_collective(failure.record) if failure else "",
        never_started=answer.never_started if part == "culprit" else "",
        busy_with=answer.busy_with if part == "culprit" else "",
    )


def _progress(step: Record) -> str:
    fields = step.fields
    value, total = fields.get("value"), fields.get("total")
    shown = "" if value is None else f" {value}/{total}" if total is not None else f" {value}"
    return f"{fields.get('unit', 'step')}{shown}"


def _moment_of(record: Record) -> Moment:
    return Moment(record.line.file, record.line.number, record.time)


def _collective(record: Record) -> str:
    """The collective that the event is about: ``ALLREDUCE 4211`` (operation and number), or "" if it tells of none."""
    op, seq = record.fields.get("op"), record.fields.get("seq")
    if (op is None or seq is None) and record.format == "c10d" and (hit := _WORK.search(record.text)):
        op, seq = hit["op"], hit["seq"]
    return f"{op} {seq}" if op is not None and seq is not None else ""


def _known(rules: Sequence[Rule], matches: Found, ranked: Ranked) -> Iterator[Failure]:
    """What shows the rules that hold and were not outlived; what detectors derive is no line of the rank's own."""
    alive = {f.rule.id for f in ranked.causes} | {f.rule.id for f, by in ranked.explained if by is not None}
    for number in sorted(n for n in matches if rules[n].id in alive):
        for shown in (s for table in matches[number].values() for s in table.all()):
            if shown.record.format != "ledger" and shown.record.level != "info":
                yield Failure(shown.record, rules[number].signature, rules[number].role)


def _moment(record: Record) -> tuple[bool, float, int]:
    return record.time is None, record.time or 0.0, record.order

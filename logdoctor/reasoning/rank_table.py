"""The rank table: for each rank where it runs, how far it got, its first failure, and its part in the whole.

Folded while the events stream by; memory is bounded by how many speakers and ranks are kept.  What the log does not
tell stays empty: a rank of which nothing is heard is ``missing``, and only its neighbours' voices make it ``silent``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import Event, Finding, Moment, Part, RankRow, Role, Rule
from logdoctor.reasoning.addresses import short_host
from logdoctor.reasoning.culprits import CULPRITS_NAMED
from logdoctor.reasoning.findings import Found
from logdoctor.reasoning.outlived import outlived
from logdoctor.reasoning.picture import Picture
from logdoctor.reasoning.places import Seat
from logdoctor.reasoning.ranking import Ranked
from logdoctor.regexes import later

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

    def before(self, event: Event) -> bool:
        """Whether that was before ``event`` or is the same; what cannot be told is not."""
        if self.file == event.line.file:
            return self.order <= event.order
        return self.time is not None and event.time is not None and self.time <= event.time


class Failure(Struct, frozen=True):
    """A rank's first failure and the signature of the rule that knows it ("": none)."""

    event: Event
    signature: str = ""
    role: Role = "fallback"


class RankTable:
    """Folds what each speaker said last and what failed first; `rows` makes the table of it."""

    def __init__(self) -> None:
        """Start with nobody heard."""
        self._heard: dict[Who, Heard] = {}
        self._failures: dict[tuple[Who, int], list[Event]] = {}

    def observe(self, event: Event, span: int) -> None:
        """Take one event in, of the attempt or job of this number in its file."""
        speaker = event.speaker
        if speaker.rank is not None or speaker.pid is not None:
            who = (speaker.rank, speaker.host, speaker.pid)
            heard = self._heard.get(who)
            if heard is not None:
                heard.file, heard.line, heard.order = event.line.file, event.line.number, event.order
                heard.time = event.time
            elif len(self._heard) < MAX_SPEAKERS:
                self._heard[who] = Heard(event.line.file, event.line.number, event.order, event.time)
        if event.failing:
            self._see_failure(event, span)

    def _see_failure(self, event: Event, span: int) -> None:
        who = (event.rank, event.host, event.pid), span
        kept = self._failures.get(who)
        if kept is None:
            if len(self._failures) >= MAX_SPEAKERS:
                return
            kept = self._failures[who] = []
        if len(kept) < FAILURES_KEPT:
            long = event.lines or len(event.text) > TEXT_KEPT
            kept.append(replace(event, lines=(), text=event.text[:TEXT_KEPT]) if long else event)

    # ── the table ───────────────────────────────────────────────────────────────────────────────────────────────

    def rows(
        self, picture: Picture, ranked: Ranked, rules: Sequence[Rule], hits: Found, harmless: Collection[int]
    ) -> tuple[RankRow, ...]:
        """The table of a job that failed; empty where fewer than two ranks are known or all are alike and blank."""
        seats = picture.places.seats()
        answer = _Answer(ranked, seats, picture)
        heard = self._last_words(picture)
        failures = self._first_failures(picture, _known(rules, hits, ranked), harmless, answer.ranks)
        known = heard.keys() | failures.keys() | answer.ranks | {r for r in picture.steps if r is not None}
        if len(known) < 2:
            return ()
        everyone = sorted({*range(min(picture.places.expected or 0, MAX_ROWS)), *known})[:MAX_ROWS]
        began = min((f.event for f in failures.values()), key=_moment, default=None)
        near, steps = _Neighbours(known, heard, picture.places.per_node), picture.last_steps()
        rows = []
        for rank in everyone:
            failure = failures.get(rank)
            if rank in answer.ranks and (failure is None or not failure.signature):
                failure = answer.failure or failure
            part = answer.part(rank, failure) or _unhurt(rank, heard.get(rank), began, near)
            row = _row(rank, part, seats.get(rank, Seat()), failure, answer, picture)
            if rank in steps:
                row = replace(row, last_progress=_progress(steps[rank]), progressed=_moment_of(steps[rank]))
            rows.append(replace(row, heard=heard[rank].moment) if rank in heard else row)
        telling = any(row.failure or row.first_failure or row.last_progress or row.role == "culprit" for row in rows)
        return tuple(rows) if telling else ()

    def _last_words(self, picture: Picture) -> dict[int, Heard]:
        last: dict[int, Heard] = {}
        for (rank, host, pid), heard in self._heard.items():
            if rank is None and pid is not None:
                rank = picture.places.rank_at(short_host(host or ""), pid)
            if rank is not None and (rank not in last or last[rank].order < heard.order):
                last[rank] = heard
        return last

    def _first_failures(
        self, picture: Picture, known: Iterable[Failure], harmless: Collection[int], blamed: Collection[int]
    ) -> dict[int, Failure]:
        """Each rank's first failure: of those that a rule knows and that the job did not outlive, else of all.

        Where two rules know a line, that of a blamed rank shows the cause, and that of another what it saw of it.
        """
        best: dict[int, tuple[int, int]] = {}
        first: dict[int, Failure] = {}
        plain = [Failure(event) for kept in self._failures.values() for event in kept]
        told = [f for f in (*known, *plain) if f.event.order not in harmless]
        of_last = {e.order for e in picture.runs.of_the_last(f.event for f in told)}
        for failure in (f for f in told if f.event.order in of_last):
            rank = picture.places.rank_of(failure.event)
            if rank is None or (not failure.signature and (rank in first or outlived(failure.event, rank, picture))):
                continue
            merit = failure.event.order, (OF_BLAMED if rank in blamed else OF_OTHERS).index(failure.role)
            if rank not in best or merit < best[rank]:
                best[rank], first[rank] = merit, failure
        return first


class _Answer:
    """Whom the answer blames, and what that rank did not do."""

    def __init__(self, ranked: Ranked, seats: Mapping[int, Seat], picture: Picture) -> None:
        finding = ranked.causes[0] if ranked.causes else None
        self.ranks = _blamed(finding, seats) if finding else set()
        event = finding.events[0] if finding else None
        derived = event is not None and event.dialect == "ledger"
        self.never_started = _never_started(event) if event and derived else ""
        self.busy_with = _busy_with(event) if event and derived else ""
        told = event is not None and not derived and picture.places.rank_of(event) in (None, *self.ranks)
        self.failure = Failure(event, finding.rule.signature) if finding and event and told else None
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
    told = "blamed" in finding.bindings
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


def _never_started(event: Event) -> str:
    """The collective that the blamed rank had not started while others waited in it."""
    lacking = event.kind == "ledger.missing_rank" or event.fields.get("phase") == "enqueue"
    return _collective(event) if lacking else ""


def _busy_with(event: Event) -> str:
    """The work that the blamed rank was still at."""
    busy = event.kind == "ledger.straggler" and event.fields.get("phase") != "enqueue"
    return str(event.fields.get("work", "")) if busy else ""


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


def _unhurt(rank: int, heard: Heard | None, began: Event | None, near: _Neighbours) -> Part:
    """The part of a rank that nobody blames and that reports no failure."""
    if heard is None:
        return "silent" if rank in near.known or near.has_neighbour(rank) else "missing"
    return "silent" if began is not None and heard.before(began) else "bystander"


def _row(rank: int, part: Part, seat: Seat, failure: Failure | None, answer: _Answer, picture: Picture) -> RankRow:
    only_host = next(iter(picture.places.hosts)) if len(picture.places.hosts) == 1 else None
    return RankRow(
        rank=rank,
        role=part,
        host=short_host(seat.host or "")
        or picture.places.host_with(rank)
        or (only_host if part != "missing" else None),
        local_rank=seat.local_rank,
        pid=seat.pid,
        gpu=seat.gpu,
        bus_id=seat.bus_id,
        failure=failure.signature if failure else "",
        first_failure=picture.evidence(failure.event) if failure else None,
        waits_for=_collective(failure.event) if failure else "",
        never_started=answer.never_started if part == "culprit" else "",
        busy_with=answer.busy_with if part == "culprit" else "",
    )


def _progress(step: Event) -> str:
    fields = step.fields
    value, total = fields.get("value"), fields.get("total")
    shown = "" if value is None else f" {value}/{total}" if total is not None else f" {value}"
    return f"{fields.get('unit', 'step')}{shown}"


def _moment_of(event: Event) -> Moment:
    return Moment(event.line.file, event.line.number, event.time)


def _collective(event: Event) -> str:
    """The collective that the event is about: ``ALLREDUCE 4211`` (operation and number), or "" if it tells of none."""
    op, seq = event.fields.get("op"), event.fields.get("seq")
    if (op is None or seq is None) and event.dialect == "c10d" and (hit := _WORK.search(event.text)):
        op, seq = hit["op"], hit["seq"]
    return f"{op} {seq}" if op is not None and seq is not None else ""


def _known(rules: Sequence[Rule], hits: Found, ranked: Ranked) -> Iterator[Failure]:
    """What shows the rules that hold and were not outlived; what ledgers derive is no line of the rank's own."""
    alive = {f.rule.id for f in ranked.causes} | {f.rule.id for f, by in ranked.explained if by is not None}
    for number in sorted(n for n in hits if rules[n].id in alive):
        for shown in (s for table in hits[number].values() for s in table.all()):
            if shown.event.dialect != "ledger" and shown.event.level != "info":
                yield Failure(shown.event, rules[number].signature, rules[number].role)


def _moment(event: Event) -> tuple[bool, float, int]:
    return event.time is None, event.time or 0.0, event.order

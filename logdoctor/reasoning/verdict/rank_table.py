"""Rank table: place, progress, first failure and part of each rank.

Unknown values stay empty. A rank without lines is ``missing``. It is ``silent`` if other ranks of its node printed
lines into the same file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import NO_SPAN, Finding, Moment, Part, RankRow, Record, Role, Rule, Span
from logdoctor.reasoning.causality.roots import Ranking
from logdoctor.reasoning.findings.match import MatchesByRule
from logdoctor.reasoning.findings.reason_line import proof_of, with_reason_line
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import printed_after
from logdoctor.reasoning.lifecycle.refutation import is_refuted
from logdoctor.reasoning.processes import Seat
from logdoctor.reasoning.steps import count_of

MAX_ROWS = 1 << 12
OF_BLAMED: tuple[Role, ...] = ("cause", "symptom", "fallback", "benign")
OF_OTHERS: tuple[Role, ...] = ("symptom", "cause", "fallback", "benign")


class Failure(Struct, frozen=True):
    """First failure of a rank. ``signature`` is that of its rule, "" without a rule."""

    record: Record
    signature: str = ""
    role: Role = "fallback"
    span: Span = NO_SPAN
    """Part of the text that the symptom matched."""

    def quoted(self) -> Record:
        """Return the record with the line to quote as its line."""
        return with_reason_line(self.record, self.record.text[slice(*self.span)]) if self.record.lines else self.record


def rank_rows(
    state: JobState,
    ranking: Ranking,
    rules: Sequence[Rule],
    matches: MatchesByRule,
    harmless: Collection[int],
) -> tuple[RankRow, ...]:
    """Return the table of a failed job.

    The table is empty if fewer than two ranks are known, or if no row has a failure, progress or culprit.
    """
    seats = state.processes.seats()
    answer = _answer(ranking, seats, state)
    last_lines = _last_records(state)
    failures = _first_failures(state, _explained_failures(rules, matches, ranking), harmless, answer.ranks)
    in_log = {*last_lines, *failures, *answer.ranks, *state.steps.ranks}
    if len(in_log) < 2:
        return ()
    all_ranks = sorted({*range(min(state.processes.expected or 0, MAX_ROWS)), *in_log})[:MAX_ROWS]
    began = min(
        (f.record for f in failures.values()), key=lambda e: (e.time is None, e.time or 0.0, e.order), default=None
    )
    steps, per_node = state.steps.by_rank(), state.processes.per_node
    rows = []
    for rank in all_ranks:
        failure = failures.get(rank)
        if rank in answer.ranks and (failure is None or not failure.signature):
            failure = answer.failure or failure
        part = answer.part(rank, failure) or _part_without_failure(rank, last_lines, in_log, began, per_node)
        row = _row(rank, part, seats.get(rank, Seat()), failure, answer, state)
        if rank in steps:
            progress = f"{steps[rank].fields.get('unit', 'step')} {count_of(steps[rank])}".rstrip()
            row = replace(row, last_progress=progress, progressed=_moment_of(steps[rank]))
        rows.append(replace(row, heard=_moment_of(last_lines[rank])) if rank in last_lines else row)
    useful = any(row.failure or row.first_failure or row.last_progress or row.role == "culprit" for row in rows)
    return tuple(rows) if useful else ()


def _last_records(state: JobState) -> dict[int, Record]:
    """Return the last record that each rank printed."""
    last = dict[int, Record]()
    for process, life in state.lives.processes.items():
        rank = state.processes.rank_named(process) if life.last is not None else None
        if life.last is not None and rank is not None and (rank not in last or last[rank].order < life.last.order):
            last[rank] = life.last
    return last


def _first_failures(
    state: JobState, explained: Iterable[Failure], harmless: Collection[int], blamed: Collection[int]
) -> dict[int, Failure]:
    """Return the first failure of each rank.

    Failures with a rule take precedence over failures without one, which count only if they were not outlived. If
    two rules explain a line, a blamed rank shows the cause, and any other rank the symptom.
    """
    best: dict[int, tuple[int, int]] = {}
    first: dict[int, Failure] = {}
    plain = (Failure(record) for life in state.lives.processes.values() for record in life.alarms)
    failures = [f for f in (*explained, *plain) if f.record.order not in harmless]
    of_last = {e.order for e in state.runs.select_last_run(f.record for f in failures)}
    for failure in (f for f in failures if f.record.order in of_last):
        rank = state.processes.rank_of(failure.record)
        if rank is None or (not failure.signature and (rank in first or is_refuted(failure.record, state.lives))):
            continue
        key = failure.record.order, (OF_BLAMED if rank in blamed else OF_OTHERS).index(failure.role)
        if rank not in best or key < best[rank]:
            best[rank], first[rank] = key, failure
    return first


class _Answer(Struct, frozen=True):
    """Ranks that the first cause blames, and their unfinished work."""

    ranks: Collection[int] = frozenset()
    never_started: str = ""
    busy_with: str = ""
    failure: Failure | None = None
    """The decisive line, for a blamed rank that printed no failure itself.  None if it is of another rank."""

    def part(self, rank: int, failure: Failure | None) -> Part | None:
        """Return the part of a blamed or failed rank. Return None for any other rank."""
        if rank in self.ranks:
            return "culprit"
        if failure is None:
            return None
        return "victim" if self.ranks else "failed"


def _answer(ranking: Ranking, seats: Mapping[int, Seat], state: JobState) -> _Answer:
    if not ranking.causes:
        return _Answer()
    finding = ranking.causes[0]
    record, ranks = proof_of(finding), _blamed(finding, seats)
    if record.format != "ledger":
        is_own = state.processes.rank_of(record) in (None, *ranks)
        return _Answer(ranks, failure=Failure(record, finding.rule.signature) if is_own else None)
    if record.kind == "ledger.missing_rank" or record.fields.get("phase") == "enqueue":
        return _Answer(ranks, never_started=_collective(record))
    return _Answer(ranks, busy_with=str(record.fields.get("work", "")) if record.kind == "ledger.straggler" else "")


def _blamed(finding: Finding, seats: Mapping[int, Seat]) -> set[int]:
    """Return the ranks that the finding blames.

    If it blames only hosts, and not all of them, return the ranks on these hosts.
    """
    culprit = finding.culprit
    named, hosts = set(culprit.ranks), set(culprit.hosts)
    if named or (culprit.why == "own-mouth" and finding.rule.action != "exclude"):
        return named
    on = {rank: short_host(seat.host) for rank, seat in seats.items() if seat.host}
    return {rank for rank, host in on.items() if host in hosts} if set(on.values()) - hosts else set()


def _part_without_failure(
    rank: int, last_lines: Mapping[int, Record], in_log: Collection[int], began: Record | None, per_node: int | None
) -> Part:
    """Return the part of a rank without blame or failure.

    ``began`` is the first failure of all ranks. A rank whose last line stands before it is silent. A rank without lines
    is silent too if ranks of its node share a file, because its log is not missing then.
    """
    if (last_line := last_lines.get(rank)) is not None:
        return "silent" if began is not None and printed_after(began, last_line) else "bystander"
    first = rank - rank % (per_node or 1)
    files = [last_lines[r].line.file for r in range(first, first + (per_node or 1)) if r in last_lines]
    return "silent" if rank in in_log or len(files) > len(set(files)) else "missing"


def _row(rank: int, part: Part, seat: Seat, failure: Failure | None, answer: _Answer, state: JobState) -> RankRow:
    return RankRow(
        rank=rank,
        role=part,
        host=short_host(seat.host or "") or (state.processes.only_host if part != "missing" else None),
        local_rank=seat.local_rank,
        pid=seat.pid,
        gpu=seat.gpu,
        bus_id=seat.bus_id,
        failure=failure.signature if failure else "",
        first_failure=state.evidence(failure.quoted()) if failure else None,
        waits_for=_collective(failure.record) if failure else "",
        never_started=answer.never_started if part == "culprit" else "",
        busy_with=answer.busy_with if part == "culprit" else "",
    )


def _moment_of(record: Record) -> Moment:
    return Moment(record.line.file, record.line.number, record.time)


def _collective(record: Record) -> str:
    """Return operation and number of the collective.

    Example: ``ALLREDUCE 4211``. Return "" if the record names no collective.
    """
    op, seq = record.fields.get("op"), record.fields.get("seq")
    return f"{op} {seq}" if op is not None and seq is not None else ""


def _explained_failures(rules: Sequence[Rule], matches: MatchesByRule, ranking: Ranking) -> Iterator[Failure]:
    """Yield matches of rules that hold and were not outlived.

    Derived records are left out, because they are no lines of a rank.
    """
    alive = {f.rule.id for f in ranking.causes} | {e.finding.rule.id for e in ranking.explained if e.by}
    for number in sorted(n for n in matches if rules[n].id in alive):
        for match in (m for table in matches[number].values() for m in table.all()):
            if match.record.format != "ledger" and match.record.level != "info":
                yield Failure(match.record, rules[number].signature, rules[number].role, match.span)

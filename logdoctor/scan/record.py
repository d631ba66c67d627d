"""One row of a scan: what is kept of the diagnosis of one job.  Small, plain, and read back from a line of JSON."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Literal

import msgspec
from msgspec import Struct

from logdoctor.contract import disarmed
from logdoctor.model import Diagnosis, InputError, JobPicture, Problem
from logdoctor.scan.failure_fingerprint import fingerprint, form_of
from logdoctor.scan.jobs import FoundJob

SCHEMA = "logdoctor.scan/1"
"""Changes when a field is renamed or changes its meaning; fields may be added."""
RANKS_KEPT = 4096
DAY = 86400.0
YEAR_TOLD = 366 * DAY
"""Stamps without a year are read as of 1970."""
LONGEST_RUN = 180 * DAY
CLOCKS_APART = 2 * DAY
"""So far the clock and the zone of a log may be ahead of those of its file."""

Status = Literal["diagnosed", "unreadable", "stalled", "died"]
"""``stalled``: it took longer than a job may; ``died``: the process that diagnosed it was killed."""


class CauseRow(Struct, frozen=True):
    """One cause (``explained_by`` is empty) or symptom of a job."""

    signature: str
    explained_by: str = ""
    confidence: float = 0.0
    by: str = ""
    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()


class RankEntry(Struct, frozen=True):
    """One rank of a job, where the logs tell the ranks apart."""

    rank: int
    role: str
    host: str = ""
    gpu: str = ""
    failure: str = ""
    last_progress: str = ""


class JobRecord(Struct, frozen=True, tag_field="schema", tag=SCHEMA):
    """What a scan knows of one job; the fields are documented in docs/scan.md."""

    job: str
    stamp: str = ""
    status: Status = "diagnosed"
    verdict: str = ""
    signature: str = ""
    title: str = ""
    summary: str = ""
    confidence: float = 0.0
    by: str = ""
    action: str = ""
    decision: str = ""
    reason: str = ""
    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    proof_file: str = ""
    proof_line: int = 0
    proof: str = ""
    fingerprint: str = ""
    templates: tuple[str, ...] = ()
    size: int = 0
    """How many ranks the job had (0: not known)."""
    user: str = ""
    nodes: tuple[str, ...] = ()
    launcher: str = ""
    attempts: int = 1
    started: float | None = None
    ended: float | None = None
    last_progress: str = ""
    changed: float = 0.0
    files: int = 0
    bytes: int = 0
    lines: int = 0
    grouped_by: str = ""
    causes: tuple[CauseRow, ...] = ()
    rank_table: tuple[RankEntry, ...] = ()
    problems: tuple[Problem, ...] = ()

    def to_line(self) -> str:
        """The record as one line of JSON, the same bytes for the same record."""
        return msgspec.json.encode(self).decode()


def from_line(line: str | bytes) -> JobRecord:
    """The record in a line of JSON.  Raises `ValueError` where it is none; fields of later versions are passed over."""
    return msgspec.json.decode(line, type=JobRecord)


def record_of(job: FoundJob, found: Diagnosis) -> JobRecord:
    """What is kept of the diagnosis of ``job``."""
    found = disarmed(found)
    cause, seen = next(iter(found.causes), None), found.picture
    proof = next(iter(cause.evidence if cause else found.unexplained), None)
    started, ended = _ran(seen, job.changed)
    progress = seen.last_progress
    return JobRecord(
        job=job.name,
        stamp=job.stamp,
        verdict=found.verdict,
        signature=cause.signature if cause else found.verdict,
        title=cause.title if cause else "",
        summary=cause.summary if cause else "",
        confidence=cause.confidence if cause else 0.0,
        by=cause.by if cause else "",
        action=cause.action if cause else "none",
        decision=found.decision.action,
        reason=found.decision.reason,
        ranks=cause.culprit.ranks if cause else (),
        hosts=cause.culprit.hosts if cause else (),
        gpus=cause.culprit.gpus if cause else (),
        proof_file=proof.line.file if proof else "",
        proof_line=proof.line.number if proof else 0,
        proof=proof.line.text if proof else "",
        fingerprint=fingerprint(found),
        templates=tuple(dict.fromkeys(map(form_of, found.unexplained))),
        size=seen.ranks_expected or len(seen.ranks_seen),
        user=job.user,
        nodes=seen.hosts,
        launcher=seen.launcher or "",
        attempts=max(seen.attempts, 1 + sum(run.kind == "attempt" for run in found.runs)),
        started=started,
        ended=ended,
        last_progress=f"{progress.unit} {progress.value}" if progress else "",
        changed=job.changed,
        files=found.coverage.files,
        bytes=found.coverage.bytes,
        lines=found.coverage.lines,
        grouped_by=job.how,
        causes=tuple(_rows(found)),
        rank_table=tuple(_entries(found)),
        problems=found.problems,
    )


def failed_record(job: FoundJob, status: Status, problem: Problem | InputError) -> JobRecord:
    """The row of a job that could not be diagnosed, and why."""
    problem = disarmed(problem.as_problem() if isinstance(problem, InputError) else problem)
    return JobRecord(
        job=job.name,
        stamp=job.stamp,
        status=status,
        user=job.user,
        changed=job.changed,
        grouped_by=job.how,
        problems=(problem,),
    )


def _rows(found: Diagnosis) -> Iterable[CauseRow]:
    for cause in found.causes:
        who = cause.culprit
        yield CauseRow(cause.signature, "", cause.confidence, cause.by, who.ranks, who.hosts, who.gpus, who.peers)
    for symptom in found.symptoms:
        yield CauseRow(symptom.signature, symptom.explained_by or "", ranks=symptom.ranks)


def _entries(found: Diagnosis) -> Iterable[RankEntry]:
    for row in found.picture.rank_table[:RANKS_KEPT]:
        gpu = row.bus_id or ("" if row.gpu is None else str(row.gpu))
        yield RankEntry(row.rank, row.role, row.host or "", gpu, row.failure, row.last_progress)


def _ran(seen: JobPicture, changed: float) -> tuple[float | None, float | None]:
    """From when to when the job ran.  Where no stamp tells the year, it is the one in which its logs were written."""
    started, ended = seen.started, seen.ended
    if started is None or ended is None or ended >= YEAR_TOLD:
        return started, ended
    if ended - started > LONGEST_RUN:  # over New Year the order is not told
        return None, None
    try:
        last = datetime.fromtimestamp(changed, timezone.utc).year
        year = next(y for y in (last, last - 1) if _in_year(ended, y) <= changed + CLOCKS_APART)
        return _in_year(started, year), _in_year(ended, year)
    except (ValueError, OverflowError, OSError):  # a file from beyond the calendar
        return None, None


def _in_year(moment: float, year: int) -> float:
    return datetime.fromtimestamp(moment, timezone.utc).replace(year=year).timestamp()

"""Records of a scan, each the stored part of a diagnosis."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Literal

import msgspec
from msgspec import Struct

from logdoctor.archive.failure_fingerprint import fingerprint, line_template
from logdoctor.archive.jobs import JobFiles
from logdoctor.logs.source_from_filename import slurm_job_of
from logdoctor.model import (
    WITH_CAUSE,
    Cause,
    Culprit,
    Decision,
    Diagnosis,
    Evidence,
    InputError,
    JobSummary,
    Line,
    Location,
    Problem,
)
from logdoctor.model.escape import escape_all

SCHEMA = "logdoctor.scan/2"
"""Changes if a field is renamed or changes its meaning.  New fields do not change the schema."""
MAX_RANKS = 4096
DAY = 86400.0
MAX_YEARLESS_TIME = 366 * DAY
"""Smaller times come from timestamps without a year, which are read as times of 1970."""
LONGEST_RUN = 180 * DAY
CLOCK_DIFFERENCE = 2 * DAY
"""Largest time by which a log's clock and time zone may be ahead of the file's time of change."""

Status = Literal["diagnosed", "unreadable", "stalled", "died"]
"""``stalled``: the job took longer than its limit.  ``died``: the process that diagnosed it was killed or crashed."""


class CauseRow(Struct, frozen=True):
    """A cause or a symptom of a job.  ``explained_by`` is empty for a cause."""

    signature: str
    explained_by: str = ""
    confidence: float = 0.0
    by: str = ""
    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()


class RankEntry(Struct, frozen=True):
    """A rank of a job, if the logs identify ranks."""

    rank: int
    role: str
    host: str = ""
    gpu: str = ""
    failure: str = ""
    last_progress: str = ""


class JobRecord(Struct, frozen=True, tag_field="schema", tag=SCHEMA):
    """The record of one job.  docs/scan.md documents the fields."""

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
    place_ranks: tuple[int, ...] = ()
    """Ranks where the failure was seen, whether they are to blame or not."""
    place_hosts: tuple[str, ...] = ()
    proof_file: str = ""
    proof_line: int = 0
    proof: str = ""
    fingerprint: str = ""
    templates: tuple[str, ...] = ()
    size: int = 0
    """Number of ranks; 0 if unknown."""
    job_id: str = ""
    """The id that the scheduler gave the job."""
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
        """Encode the record as a line of JSON.  Equal records give equal bytes."""
        return msgspec.json.encode(self).decode()


def parse_record(line: str | bytes) -> JobRecord:
    """Decode a line of JSON.  Unknown fields of later versions are ignored.  Raises `ValueError`."""
    return msgspec.json.decode(line, type=JobRecord)


def end_time(record: JobRecord) -> float:
    """Return the end of a job. If its logs have no times, this is the time when they were last written."""
    return record.ended if record.ended is not None and record.ended > 0 else record.changed


def day_of(seconds: float) -> str:
    """Return a date in UTC such as ``2026-11-16``, "" if the time is unknown (0) or outside the calendar."""
    try:
        return str(datetime.fromtimestamp(seconds, timezone.utc).date()) if seconds > 0 else ""
    except (ValueError, OverflowError, OSError):
        return ""


def make_record(job: JobFiles, diagnosis: Diagnosis) -> JobRecord:
    """Make the record of ``job`` from its diagnosis."""
    diagnosis = escape_all(diagnosis)
    cause, state = diagnosis.answer, diagnosis.job
    proof = next(iter(cause.evidence if cause else diagnosis.unexplained), None)
    started, ended = _run_time(state, job.changed)
    progress = state.last_progress
    return JobRecord(
        job=job.name,
        stamp=job.stamp,
        verdict=diagnosis.verdict,
        signature=cause.signature if cause else diagnosis.verdict,
        title=cause.title if cause else "",
        summary=cause.summary if cause else "",
        confidence=cause.confidence if cause else 0.0,
        by=cause.by if cause else "",
        action=cause.action if cause else "none",
        decision=diagnosis.decision.do,
        reason=diagnosis.decision.because,
        ranks=cause.culprit.ranks if cause else (),
        hosts=cause.culprit.hosts if cause else (),
        gpus=cause.culprit.gpus if cause else (),
        place_ranks=cause.place.ranks if cause else (),
        place_hosts=cause.place.hosts if cause else (),
        proof_file=proof.line.file if proof else "",
        proof_line=proof.line.number if proof else 0,
        proof=proof.line.text if proof else "",
        fingerprint=fingerprint(diagnosis),
        templates=tuple(dict.fromkeys(map(line_template, diagnosis.unexplained))),
        size=state.ranks_expected or len(state.ranks_seen),
        job_id=state.id or "",
        user=job.user,
        nodes=state.hosts,
        launcher=state.launcher or "",
        attempts=max(state.attempts, 1 + sum(run.kind == "attempt" for run in diagnosis.runs)),
        started=started,
        ended=ended,
        last_progress=f"{progress.unit} {progress.value}" if progress else "",
        changed=job.changed,
        files=diagnosis.coverage.files,
        bytes=diagnosis.coverage.bytes,
        lines=diagnosis.coverage.lines,
        grouped_by=job.grouped_by,
        causes=tuple(_cause_rows(diagnosis)),
        rank_table=tuple(_rank_entries(diagnosis)),
        problems=diagnosis.problems,
    )


def make_failed_record(job: JobFiles, status: Status, problem: Problem | InputError) -> JobRecord:
    """Make the record of a job without a diagnosis."""
    problem = escape_all(problem.as_problem() if isinstance(problem, InputError) else problem)
    return JobRecord(
        job=job.name,
        stamp=job.stamp,
        status=status,
        user=job.user,
        changed=job.changed,
        grouped_by=job.grouped_by,
        problems=(problem,),
    )


def as_diagnosis(record: JobRecord) -> Diagnosis:
    """Return the first cause of a record as a diagnosis, as far as the record tells it."""
    name = record.job.rpartition("/")[2] or record.job
    job = JobSummary(id=slurm_job_of([record.job]), hosts=record.nodes)
    decision = Decision(record.decision or "investigate", headline=record.decision.upper().replace("-", " "))  # type: ignore[arg-type]
    if record.verdict not in WITH_CAUSE:
        return Diagnosis(name, record.verdict or "nothing-to-judge", job=job, decision=decision)  # type: ignore[arg-type]
    cause = Cause(
        record.signature,
        record.title,
        record.summary,
        record.confidence,
        record.by or "rule",  # type: ignore[arg-type]
        Culprit(record.ranks, record.hosts, record.gpus),
        record.action or "none",  # type: ignore[arg-type]
        steps=(),
        references=(),
        evidence=(Evidence(Line(record.proof_file, record.proof_line, record.proof)),) if record.proof else (),
        explains=(),
        place=Location(record.place_ranks, record.place_hosts),
    )
    return Diagnosis(name, record.verdict, causes=(cause,), job=job, decision=decision)


def _cause_rows(diagnosis: Diagnosis) -> Iterable[CauseRow]:
    for cause in diagnosis.causes:
        culprit = cause.culprit
        blamed = culprit.ranks, culprit.hosts, culprit.gpus, culprit.peers
        yield CauseRow(cause.signature, "", cause.confidence, cause.by, *blamed)
    for symptom in diagnosis.symptoms:
        yield CauseRow(symptom.signature, symptom.explained_by or "", ranks=symptom.ranks)


def _rank_entries(diagnosis: Diagnosis) -> Iterable[RankEntry]:
    for row in diagnosis.job.rank_table[:MAX_RANKS]:
        gpu = row.bus_id or ("" if row.gpu is None else str(row.gpu))
        yield RankEntry(row.rank, row.role, row.host or "", gpu, row.failure, row.last_progress)


def _run_time(state: JobSummary, changed: float) -> tuple[float | None, float | None]:
    """Return the start and the end of the job.

    Both are in seconds since 1970.  Timestamps without a year get the latest year in which ``ended`` is not after
    ``changed``.  Returns None for both if the job seems to run over New Year.
    """
    started, ended = state.started, state.ended
    if started is None or ended is None or ended >= MAX_YEARLESS_TIME:
        return started, ended
    if ended - started > LONGEST_RUN:  # December sorts after January, so the job may have run over New Year
        return None, None
    try:
        last = datetime.fromtimestamp(changed, timezone.utc).year
        year = next(y for y in (last, last - 1) if _with_year(ended, y) <= changed + CLOCK_DIFFERENCE)
        return _with_year(started, year), _with_year(ended, year)
    except (ValueError, OverflowError, OSError):  # the file's time of change is outside the calendar
        return None, None


def _with_year(seconds: float, year: int) -> float:
    return datetime.fromtimestamp(seconds, timezone.utc).replace(year=year).timestamp()

"""Diagnose the jobs of one task of a scan.  Runs in any process of any engine."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.archive.jobs import JobFiles
from logdoctor.archive.record import JobRecord, make_failed_record, make_record
from logdoctor.inputs import open_streams
from logdoctor.inputs.remote import mask_urls, open_if_remote
from logdoctor.model import InputError, Job, Problem, Stream
from logdoctor.model.escape import escape_all
from logdoctor.pipeline.diagnosis import diagnose, diagnose_streams
from logdoctor.pipeline.knowledge import Knowledge, gather, rule_folders


class JobTimeout(Exception):
    """A job took longer than its time limit."""


class Task(Struct, frozen=True):
    """A single job, or the jobs of one packed archive."""

    jobs: tuple[JobFiles, ...]


def make_tasks(jobs: Sequence[JobFiles]) -> list[Task]:
    """Group ``jobs`` into tasks.

    The jobs of one packed archive share a task, so that the archive is read once.  A job whose members do not follow
    each other in the archive is a task of its own.
    """
    groups: dict[str, list[JobFiles]] = {}
    for job in jobs:
        groups.setdefault(job.paths[0] if job.members and not job.scattered else f"\0{job.name}", []).append(job)
    return [Task(tuple(group)) for group in groups.values()]


def load_worker_pack(rules: Sequence[Path]) -> Knowledge:
    """Load the pack for a process that diagnoses many jobs.

    ``rules`` are folders with the user's own rules.  Faults of these rules are dropped, because they would be repeated
    in every record.
    """
    pack = replace(gather(rule_folders(rules)), faults=())
    gc.freeze()  # the pack never becomes garbage; without this, collecting takes a tenth of the time of small jobs
    return pack


def diagnose_task(task: Task, pack: Knowledge, seconds: float) -> Iterator[JobRecord]:
    """Diagnose the jobs of ``task`` and yield their records.

    No content of a log raises an error.  A job that cannot be read, takes too long or crashes the diagnosis gives a
    record with that status.
    """
    if not task.jobs[0].members:
        yield from (_diagnose_job(job, pack, seconds, None) for job in task.jobs)
        return
    job_of_member = {member: job for job in task.jobs for member in job.members}
    finished = set[str]()
    problems = list[Problem]()
    archive = _ArchiveReader(task.jobs[0].paths[0], job_of_member, problems)
    while (job := archive.next_job()) is not None:
        if job.name not in finished:
            finished.add(job.name)
            before = len(problems)
            record = _diagnose_job(job, pack, seconds, archive.streams_of(job))
            yield replace(record, problems=(*record.problems, *map(escape_all, problems[before:])))
        for _ in archive.streams_of(job):  # skip the logs that remain if the diagnosis stopped early
            pass
    for job in task.jobs:  # members that were removed since the archive was listed, or lost with its damaged end
        if job.name not in finished:
            problem = problems[0] if problems else Problem("was not read", job.name, "the archive holds it no longer")
            yield make_failed_record(job, "unreadable", problem)


def _diagnose_job(job: JobFiles, pack: Knowledge, seconds: float, members: Iterator[Stream] | None) -> JobRecord:
    """Diagnose ``job``.

    Reads ``members``, its logs in a packed archive, or the files of the job if ``members`` is None.
    """
    deadline = _Deadline(seconds)
    try:
        if members is not None:
            return make_record(job, diagnose_streams(members, name=job.name, knowledge=pack, watch=deadline))
        files = [job.folder] if job.folder else [open_if_remote(path) for path in job.paths]
        links = job.follow_links
        diagnosis = diagnose(files, name=job.name, knowledge=pack, watch=deadline, found=True, follow_links=links)
        return make_record(job, diagnosis)
    except JobTimeout:
        why = f"it took longer than the {seconds:g} seconds that a job may take"
        problem = Problem("was not diagnosed", job.name, why, "give more time: --job-limit")
        return make_failed_record(job, "stalled", problem)
    except InputError as error:
        return make_failed_record(job, "unreadable", error)
    except Exception as error:  # noqa: BLE001  a bug that one job triggers must not lose the other jobs
        why = f"{type(error).__name__}: {error}"
        problem = Problem("was not diagnosed", job.name, why, "please report it with the log")
        return make_failed_record(job, "died", problem)


class _Deadline:
    """A progress callback that stops a diagnosis after its time limit."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def __call__(self, _name: str, _count: int) -> None:
        if time.monotonic() > self._end:
            raise JobTimeout


class _ArchiveReader:
    """Reads the logs of a packed archive, job by job."""

    def __init__(self, path: str, job_of_member: dict[str, JobFiles], problems: list[Problem]) -> None:
        self._prefix, self._job_of_member = f"{mask_urls(path)}:", job_of_member
        self._streams = open_streams(Job(path, (open_if_remote(path),), found=True), problems)
        self._next: tuple[JobFiles, Stream] | None = None

    def next_job(self) -> JobFiles | None:
        """Return the job of the next log, or None at the end."""
        if self._next is None:
            self._advance()
        return self._next[0] if self._next else None

    def streams_of(self, job: JobFiles) -> Iterator[Stream]:
        """Yield the logs of ``job`` until a log of another job follows."""
        while self._next is not None and self._next[0] is job:
            yield self._next[1]
            self._advance()

    def _advance(self) -> None:
        self._next = None
        for stream in self._streams:
            job = self._job_of_member.get(stream.name.removeprefix(self._prefix))
            if job is not None:
                self._next = job, stream
                return

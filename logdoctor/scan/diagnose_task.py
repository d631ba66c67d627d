"""The work of one task of a scan: the jobs of a file or folder in, their records out.  Runs in any process."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.contract import disarmed
from logdoctor.diagnosis import diagnose, diagnose_streams
from logdoctor.knowledge import Knowledge, gather, rule_folders
from logdoctor.model import InputError, Job, Problem, Stream
from logdoctor.scan.file_listing import reachable
from logdoctor.scan.jobs import FoundJob
from logdoctor.scan.record import JobRecord, failed_record, record_of
from logdoctor.sources import streams


class TooLong(Exception):
    """A job took longer than one may."""


class Task(Struct, frozen=True):
    """Jobs that are read together: one, or those of one packed archive."""

    jobs: tuple[FoundJob, ...]


def tasks_of(jobs: Sequence[FoundJob]) -> list[Task]:
    """The tasks for ``jobs``: an archive of many jobs is read once, and again for each job that is scattered in it."""
    together: dict[str, list[FoundJob]] = {}
    for job in jobs:
        together.setdefault(job.paths[0] if job.members and not job.scattered else f"\0{job.name}", []).append(job)
    return [Task(tuple(own)) for own in together.values()]


def learned(rules: Sequence[Path]) -> Knowledge:
    """What a process knows that diagnoses many jobs: with ``rules``, folders of the user's own.

    What is wrong with these is nothing that a job could not be read for: it stands in no record.
    """
    known = replace(gather(rule_folders(rules)), faults=())
    gc.freeze()  # it stays as it is: without it, looking for garbage in it takes a tenth of the time of small jobs
    return known


def examine(task: Task, known: Knowledge, seconds: float) -> Iterator[JobRecord]:
    """The record of each job of ``task``, each as soon as it is there.

    Never raises for what is in the logs: a job that cannot be read, takes longer than ``seconds`` or breaks us is a
    record that says so.
    """
    if not task.jobs[0].members:
        yield from (_one(job, known, seconds, None) for job in task.jobs)
        return
    wanted = {member: job for job in task.jobs for member in job.members}
    whole = task.jobs[0].paths[0]
    done = set[str]()
    problems = list[Problem]()
    opened = _Opened(whole, wanted, problems)
    while (job := opened.next_job()) is not None:
        if job.name not in done:
            done.add(job.name)
            before = len(problems)
            record = _one(job, known, seconds, opened.of(job))
            yield replace(record, problems=(*record.problems, *map(disarmed, problems[before:])))
        for _ in opened.of(job):  # where its diagnosis broke off
            pass
    for lost in task.jobs:  # what the archive no longer holds, or lost with its end
        if lost.name not in done:
            first = problems[0] if problems else Problem("was not read", lost.name, "the archive holds it no longer")
            yield failed_record(lost, "unreadable", first)


def _one(job: FoundJob, known: Knowledge, seconds: float, opened: Iterator[Stream] | None) -> JobRecord:
    watch = _Watch(seconds)
    try:
        if opened is not None:
            return record_of(job, diagnose_streams(opened, name=job.name, knowledge=known, watch=watch))
        opened_or_named = [reachable(path) for path in job.paths]
        return record_of(job, diagnose(opened_or_named, name=job.name, knowledge=known, watch=watch))
    except TooLong:
        why = f"it took longer than the {seconds:g} seconds that a job may take"
        return failed_record(job, "stalled", Problem("was not diagnosed", job.name, why, "give more time: --job-limit"))
    except InputError as error:
        return failed_record(job, "unreadable", error)
    except Exception as error:  # noqa: BLE001  one job never loses the others' results
        why = f"{type(error).__name__}: {error}"
        return failed_record(job, "died", Problem("was not diagnosed", job.name, why, "please report it with the log"))


class _Watch:
    """Stops a diagnosis that reads for too long."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def __call__(self, _name: str, _count: int) -> None:
        if time.monotonic() > self._end:
            raise TooLong


class _Opened:
    """The logs of a packed archive, handed out job by job in the archive's order."""

    def __init__(self, path: str, wanted: dict[str, FoundJob], problems: list[Problem]) -> None:
        self._lead, self._wanted = f"{path}:", wanted
        self._streams = streams(Job(path, (reachable(path),)), problems)
        self._ahead: tuple[FoundJob, Stream] | None = None

    def next_job(self) -> FoundJob | None:
        """The job of the next log; None at the end.  What is left of the job before it is passed over."""
        if self._ahead is None:
            self._advance()
        return self._ahead[0] if self._ahead else None

    def of(self, job: FoundJob) -> Iterator[Stream]:
        """The logs of ``job`` that follow each other."""
        while self._ahead is not None and self._ahead[0] is job:
            stream = self._ahead[1]
            yield stream
            self._advance()

    def _advance(self) -> None:
        self._ahead = None
        for stream in self._streams:
            job = self._wanted.get(stream.name.removeprefix(self._lead))
            if job is not None:
                self._ahead = job, stream
                return

"""Find and diagnose the jobs of an archive, one record per job.

Records are appended to a folder (`checkpoint_log`) as soon as a job is diagnosed.  A scan that was killed continues
from there.  Jobs whose files did not change are not read again.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from logdoctor.archive.checkpoint_log import CheckpointLog
from logdoctor.archive.diagnose_task import make_tasks
from logdoctor.archive.engines import Work
from logdoctor.archive.jobs import Filters, JobFiles, find_jobs
from logdoctor.archive.record import JobRecord
from logdoctor.inputs.remote import mask_urls
from logdoctor.model import InputError, Problem

__all__ = ["Filters", "JobFiles", "JobRecord", "Plan", "Scan", "find_jobs"]

JOB_SECONDS = 600.0


class Plan(Struct, frozen=True):
    """Settings of a scan.

    ``shard`` (i, n) takes every n-th task, beginning with the i-th (counted from 1).  ``retry`` repeats the jobs that
    an earlier run could not diagnose.  `logdoctor.archive.engines.Work` explains the remaining fields.
    """

    folder: Path
    workers: int = 1
    seconds: float = JOB_SECONDS
    rules: tuple[Path, ...] = ()
    scheduler: str = ""
    cluster: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    shard: tuple[int, int] = (1, 1)
    retry: bool = False


class Scan:
    """One run over an archive.  ``jobs`` are all its jobs, ``todo`` those that still need a diagnosis."""

    def __init__(self, places: Sequence[str], plan: Plan, filters: Filters | None = None) -> None:
        self.places, self.plan = places, plan
        self.problems: list[Problem] = []
        index, count = plan.shard
        tasks = make_tasks(find_jobs(places, filters or Filters(), self.problems))[index - 1 :: count]
        self.jobs = [job for task in tasks for job in task.jobs]
        self.log = CheckpointLog(self.plan.folder)
        self.todo = [job for job in self.jobs if not self._is_done(job)]

    def require_jobs(self) -> None:
        """Raise `InputError` if there is no job."""
        if not self.jobs:
            first = next(iter(self.problems), None)
            if first is not None:
                raise InputError(first.what, first.where, first.why, first.help)
            why = "there is no log, or none that the options want"
            raise InputError("no job found", mask_urls(self.places[0]), why, "check the path and the options")

    def _is_done(self, job: JobFiles) -> bool:
        location = self.log.locations.get(job.name)
        if self.plan.retry and location is not None and location.status != "diagnosed":
            return False
        return self.log.is_done(job.name, job.stamp)

    def run(self) -> Iterator[int]:
        """Diagnose the jobs in ``todo``.

        Yields the number of jobs that finished since the last yield.  Raises `InputError` if another scan works in the
        same folder.
        """
        complete = self.plan.shard == (1, 1)
        with self.log.lock(exclusive=complete):
            if self.todo:
                plan = self.plan
                tasks = tuple(make_tasks(self.todo))
                cluster = plan.scheduler, plan.cluster, plan.options
                work = Work(tasks, plan.folder, plan.seconds, plan.rules, plan.workers, *cluster)
                name = "dask" if plan.scheduler or plan.cluster else "pool" if plan.workers > 1 else "serial"
                yield from importlib.import_module(f"logdoctor.archive.engines.{name}").run(work)
            self.log.reload()
            if complete:
                self.log.merge_parts()

    def records(self) -> Iterator[JobRecord]:
        """Yield all records in the folder of the scan, sorted by job.

        This includes jobs that only an earlier run into the same folder found.
        """
        return self.log.records()

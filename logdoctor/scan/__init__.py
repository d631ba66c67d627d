"""Many jobs in, a table of causes out: finds the jobs of an archive, diagnoses each, and keeps the results.

A scan has a folder.  Results land there as they come (`journal`), so a scan that was killed goes on where it stood, and
jobs that did not change are not read again.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from logdoctor.model import Problem
from logdoctor.scan.checkpoint_log import Journal
from logdoctor.scan.diagnose_task import tasks_of
from logdoctor.scan.engines import Work
from logdoctor.scan.jobs import Filters, FoundJob, find_jobs
from logdoctor.scan.record import JobRecord

__all__ = ["Filters", "FoundJob", "JobRecord", "Plan", "Scan", "find_jobs"]

JOB_SECONDS = 600.0


class Plan(Struct, frozen=True):
    """How to scan: ``shard`` (i, n) takes every n-th job, counted from 1; ``retry`` the jobs that failed to be read.

    ``scheduler``, ``cluster`` and ``options``: see `logdoctor.scan.engines.Work`.
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
    """One run over the jobs of an archive; ``jobs`` are all of them, ``todo`` those that are not done."""

    def __init__(self, places: Sequence[str], plan: Plan, filters: Filters | None = None) -> None:
        """Find the jobs in ``places``, and which of them an earlier run has done."""
        self.places, self.plan = places, plan
        self.problems: list[Problem] = []
        index, count = plan.shard
        tasks = tasks_of(find_jobs(places, filters or Filters(), self.problems))[index - 1 :: count]
        self.jobs = [job for task in tasks for job in task.jobs]
        self.journal = Journal(self.plan.folder)
        self.todo = [job for job in self.jobs if not self._is_done(job)]

    def _is_done(self, job: FoundJob) -> bool:
        place = self.journal.places.get(job.name)
        if self.plan.retry and place is not None and place.status != "diagnosed":
            return False
        return self.journal.has(job.name, job.stamp)

    def run(self) -> Iterator[int]:
        """Diagnose what is to do; yields how many jobs came in.  Afterwards `records` has them all.

        Raises `InputError` where another scan is at work in the same folder.
        """
        whole = self.plan.shard == (1, 1)
        with self.journal.locked(alone=whole):
            if self.todo:
                plan = self.plan
                tasks = tuple(tasks_of(self.todo))
                where = plan.scheduler, plan.cluster, plan.options
                work = Work(tasks, plan.folder, plan.seconds, plan.rules, plan.workers, *where)
                name = "dask" if plan.scheduler or plan.cluster else "pool" if plan.workers > 1 else "serial"
                yield from importlib.import_module(f"logdoctor.scan.engines.{name}").run(work)
            self.journal.refresh()
            if whole:
                self.journal.close()

    def records(self) -> Iterator[JobRecord]:
        """The records of all jobs that ever landed in the folder of the scan, by name."""
        return self.journal.records()

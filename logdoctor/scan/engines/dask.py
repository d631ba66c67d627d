"""The worker processes of a Dask cluster.

Records come back to this process, which lands them: the cluster needs to see the logs, not the folder of the scan.
Dask runs the tasks of a worker that dies again on another one.  Where the scheduler itself is lost, we connect anew and
hand over what has not landed.  So a job may be read twice, but lands once.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from logdoctor import regexes
from logdoctor.knowledge import Knowledge
from logdoctor.model import InputError, MadeBy, Problem
from logdoctor.scan.checkpoint_log import Landing
from logdoctor.scan.clusters import started
from logdoctor.scan.diagnose_task import Task, examine, learned, tasks_of
from logdoctor.scan.engines import Work
from logdoctor.scan.jobs import FoundJob
from logdoctor.scan.record import JobRecord, failed_record, from_line

AHEAD = 3
"""So many batches a worker are handed over at a time."""
BATCH_JOBS = 16
BATCH_BYTES = 4 << 20
"""A batch of small jobs ends with either: a task of Dask costs two milliseconds, as much as a small job."""
CONNECT_SECONDS = 10.0
TRIES = 12
PAUSE = 5.0
"""A scheduler that was lost is called so often, with such pauses; jobs that landed meanwhile give all tries again."""
LOOK_EVERY = 5.0
"""So often, in seconds, we look how many workers there are."""
GRACE = 30.0
"""Seconds after which a worker that should have given up a job by itself ends itself."""

Batch = tuple[FoundJob, ...]


class _SchedulerLost(Exception):
    """The connection to the scheduler is gone, and what it had been given."""


def run(work: Work) -> Iterator[int]:
    """See `logdoctor.scan.engines`.  Raises `InputError` where there is no scheduler, or its workers cannot do it."""
    try:
        import distributed
    except ImportError:
        what, cure = "the cluster cannot be used", "pip install 'logdoctor[cluster]'"
        raise InputError(what, work.scheduler or work.cluster, "distributed is not installed", cure) from None
    left = {job.name: job for task in work.tasks for job in task.jobs}
    landing = Landing(work.folder)
    with started(work) as address:
        try:
            tries, answered = 0, False
            while left:
                before = len(left)
                try:
                    for records in _connected(distributed, address, work, list(left.values())):
                        answered = True
                        yield sum(_land(record, left, landing) for record in records)
                except _SchedulerLost as lost:
                    tries = 1 if len(left) < before else tries + 1
                    if tries > TRIES or not answered:
                        raise _no_scheduler(address, str(lost)) from None
                    time.sleep(PAUSE)
        finally:
            landing.close()


def _land(record: JobRecord, left: dict[str, FoundJob], landing: Landing) -> int:
    if left.pop(record.job, None) is None:
        return 0
    landing.add(record)
    return 1


def _no_scheduler(address: str, why: str) -> InputError:
    return InputError("no scheduler answers", address, why, "see that it runs; scan again to go on where this stood")


def _connected(distributed: Any, address: str, work: Work, jobs: Sequence[FoundJob]) -> Iterator[list[JobRecord]]:
    """The records of ``jobs`` as long as the scheduler is there; none, once, when it is.  Raises `_SchedulerLost`."""
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise _SchedulerLost(f"{type(error).__name__}: {error}") from None
    try:
        yield []
        yield from _Submission(distributed, client, work, address).records(jobs)
    finally:
        client.close(timeout=CONNECT_SECONDS)


class _Submission:
    """Batches of jobs on their way through a cluster."""

    def __init__(self, distributed: Any, client: Any, work: Work, address: str) -> None:
        self._client, self._work, self._address = client, work, address
        self._came = distributed.as_completed(loop=client.loop)
        self._killed = distributed.scheduler.KilledWorker
        self._made_by = _known(work.rules).made_by
        self._under_way: dict[Any, Batch] = {}
        self._room, self._looked = 0, 0.0
        self._suspects, self._alone = deque[Batch](), False

    def records(self, jobs: Sequence[FoundJob]) -> Iterator[list[JobRecord]]:
        """The records of all ``jobs``, batch by batch as they come."""
        waiting = deque(_batches(jobs))
        while waiting or self._under_way or self._suspects:
            while waiting and len(self._under_way) < self._wanted():
                self._submit(waiting.popleft())
            if not self._under_way:
                self._alone = True
                self._submit(self._suspects.popleft())
            future = next(self._came)
            batch = self._under_way.pop(future)
            if future.status == "finished":
                yield [from_line(line) for line in self._result(future)]
            else:
                yield self._after_failure(future, batch)

    def _wanted(self) -> int:
        """How many batches should be under way; at least a few, for workers that are yet to come."""
        if time.monotonic() - self._looked > LOOK_EVERY:
            self._room, self._looked = len(self._client.scheduler_info(n_workers=-1)["workers"]), time.monotonic()
        return AHEAD * max(2, self._room)

    def _submit(self, batch: Batch) -> None:
        work = self._work
        future = self._client.submit(_examine, batch, work.seconds, work.rules, self._made_by, pure=False)
        self._under_way[future] = batch
        self._came.add(future)

    def _result(self, future: Any) -> list[str]:
        try:
            lines: list[str] = future.result()
        except Exception as error:  # noqa: BLE001 - whatever lost a result that was there
            raise _SchedulerLost(f"{type(error).__name__}: {error}") from None
        return lines

    def _after_failure(self, future: Any, batch: Batch) -> list[JobRecord]:
        """Rows for jobs that are given up; what may be innocent is tried again."""
        if future.status != "error":
            raise _SchedulerLost("the connection broke")
        error = future.exception()
        if isinstance(error, InputError):
            raise error
        if not isinstance(error, self._killed):  # `examine` raises for no log: no other batch would fare better
            why, cure = f"{type(error).__name__}: {error}", "install the same version of logdoctor on every worker"
            raise InputError("the workers cannot do the work", self._address, why, cure)
        if len(batch) > 1:
            half = len(batch) // 2
            self._suspects.extendleft((batch[half:], batch[:half]))
            return []
        if not self._alone:  # Dask blames all that waited at a worker that died: each is tried by itself in the end
            self._suspects.append(batch)
            return []
        problem = Problem(
            "was not diagnosed", batch[0].name, "each worker that diagnosed it died", "scan again: --retry"
        )
        return [failed_record(batch[0], "died", problem)]


def _batches(jobs: Sequence[FoundJob]) -> Iterator[Batch]:
    """Tasks, small ones together."""
    batch, size = list[FoundJob](), 0
    for task in tasks_of(jobs):
        weight = BATCH_BYTES if task.jobs[0].members else task.jobs[0].size
        if batch and (len(batch) >= BATCH_JOBS or size + weight > BATCH_BYTES):
            yield tuple(batch)
            batch, size = [], 0
        batch += task.jobs
        size += weight
    if batch:
        yield tuple(batch)


# ── in a worker ─────────────────────────────────────────────────────────────────────────────────────────────────────

_ONE_AT_A_TIME = threading.Lock()
"""What is known is not for two threads at once; a worker should have one."""


@lru_cache(maxsize=2)
def _known(rules: tuple[Path, ...]) -> Knowledge:
    """Loaded once a process."""
    for folder in rules:
        if not folder.is_dir():
            raise InputError("there are no rules", str(folder), "a worker does not see this folder", "share it")
    return learned(rules)


def _examine(batch: Batch, seconds: float, rules: tuple[Path, ...], made_by: MadeBy) -> list[str]:
    """What a worker does for a batch: the lines of its records."""
    with _ONE_AT_A_TIME:
        known = _known(rules)
        if known.made_by != made_by:
            why = f"a worker has {known.made_by}, this machine {made_by}"
            raise InputError("the workers know other rules", "logdoctor", why, "install the same version everywhere")
        lines = [record.to_line() for task in tasks_of(batch) for record in _bounded(task, known, seconds)]
        regexes.keep()
        return lines


def _bounded(task: Task, known: Knowledge, seconds: float) -> Iterator[JobRecord]:
    """The records of a task; the process ends where one is stuck, and Dask starts it again."""
    limit = threading.Timer(seconds * len(task.jobs) + GRACE, os._exit, (1,))
    limit.daemon = True
    limit.start()
    try:
        yield from examine(task, known, seconds)
    finally:
        limit.cancel()

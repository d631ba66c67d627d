"""The engine with the worker processes of a Dask cluster.

Workers send the records to this process, which writes them.  So the workers must see the logs, but not the folder of
the scan.  If a worker dies, Dask runs its tasks on another worker.  If the connection to the scheduler breaks, this
process connects again and submits the jobs without a record.  A job may be diagnosed twice, but has one record.
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

from logdoctor.archive.checkpoint_log import CheckpointWriter
from logdoctor.archive.clusters import EXTRAS, connect_address
from logdoctor.archive.diagnose_task import Task, diagnose_task, load_worker_pack, make_tasks
from logdoctor.archive.engines import Work
from logdoctor.archive.jobs import JobFiles
from logdoctor.archive.record import JobRecord, make_failed_record, parse_record
from logdoctor.model import InputError, MadeBy, Problem
from logdoctor.model.extras import needs_extra
from logdoctor.pack import regexes
from logdoctor.pipeline.knowledge import Knowledge

BATCHES_PER_WORKER = 3
"""Batches that are submitted at the same time, per worker."""
BATCH_JOBS = 16
BATCH_BYTES = 4 << 20
"""A batch of small jobs ends at either limit.  A Dask task costs two milliseconds, as much as a small job."""
CONNECT_SECONDS = 10.0
MAX_RETRIES = 12
RETRY_SECONDS = 5.0
"""Number of reconnections and the pause before each.  A job that finishes in between resets the count."""
COUNT_WORKERS_SECONDS = 5.0
"""Time between two counts of the workers."""
GRACE_SECONDS = 30.0
"""Extra time after the job limit.  A worker that has not stopped the job by then ends its own process."""

Batch = tuple[JobFiles, ...]


class _SchedulerLost(Exception):
    """The connection to the scheduler broke, and all submitted batches are lost."""


def run(work: Work) -> Iterator[int]:
    """Run ``work`` as `logdoctor.archive.engines` says.

    Raises `InputError` if no scheduler answers or the workers cannot do the work.
    """
    with needs_extra(EXTRAS[work.cluster], "the cluster cannot be used", work.scheduler or work.cluster):
        import distributed
    unfinished = {job.name: job for task in work.tasks for job in task.jobs}
    writer = CheckpointWriter(work.folder)
    with connect_address(work) as address:
        try:
            retries, connected = 0, False
            while unfinished:
                before = len(unfinished)
                try:
                    for records in _run_on_scheduler(distributed, address, work, list(unfinished.values())):
                        connected = True
                        yield sum(_write_once(record, unfinished, writer) for record in records)
                except _SchedulerLost as error:
                    retries = 1 if len(unfinished) < before else retries + 1
                    if retries > MAX_RETRIES or not connected:
                        raise _no_scheduler(address, str(error)) from None
                    time.sleep(RETRY_SECONDS)
        finally:
            writer.close()


def _write_once(record: JobRecord, unfinished: dict[str, JobFiles], writer: CheckpointWriter) -> int:
    """Write ``record`` unless its job has one.  Return the number written."""
    if unfinished.pop(record.job, None) is None:
        return 0
    writer.add(record)
    return 1


def _no_scheduler(address: str, why: str) -> InputError:
    return InputError("no scheduler answers", address, why, "see that it runs; scan again to go on where this stood")


def _run_on_scheduler(
    distributed: Any, address: str, work: Work, jobs: Sequence[JobFiles]
) -> Iterator[list[JobRecord]]:
    """Connect to the scheduler and yield the records of ``jobs``.

    Yields an empty list once after the connection is made.  Raises `_SchedulerLost`.
    """
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise _SchedulerLost(f"{type(error).__name__}: {error}") from None
    try:
        yield []
        yield from _Submission(distributed, client, work, address).run(jobs)
    finally:
        client.close(timeout=CONNECT_SECONDS)


class _Submission:
    """Batches of jobs that are submitted to a cluster."""

    def __init__(self, distributed: Any, client: Any, work: Work, address: str) -> None:
        self._client, self._work, self._address = client, work, address
        self._finished = distributed.as_completed(loop=client.loop)
        self._worker_died = distributed.scheduler.KilledWorker
        self._made_by = _load_pack(work.rules).made_by
        self._running: dict[Any, Batch] = {}
        self._workers, self._workers_counted = 0, 0.0
        self._suspects, self._one_by_one = deque[Batch](), False

    def run(self, jobs: Sequence[JobFiles]) -> Iterator[list[JobRecord]]:
        """Yield the records of each batch as soon as it is finished."""
        waiting = deque(_make_batches(jobs))
        while waiting or self._running or self._suspects:
            while waiting and len(self._running) < self._max_running():
                self._submit(waiting.popleft())
            if not self._running:
                self._one_by_one = True
                self._submit(self._suspects.popleft())
            future = next(self._finished)
            batch = self._running.pop(future)
            if future.status == "finished":
                yield [parse_record(line) for line in self._result(future)]
            else:
                yield self._handle_failure(future, batch)

    def _max_running(self) -> int:
        """Return the number of batches that may run at the same time.

        At least two workers are counted, because workers may still start.
        """
        if time.monotonic() - self._workers_counted > COUNT_WORKERS_SECONDS:
            self._workers = len(self._client.scheduler_info(n_workers=-1)["workers"])
            self._workers_counted = time.monotonic()
        return BATCHES_PER_WORKER * max(2, self._workers)

    def _submit(self, batch: Batch) -> None:
        work = self._work
        future = self._client.submit(_run_batch, batch, work.seconds, work.rules, self._made_by, pure=False)
        self._running[future] = batch
        self._finished.add(future)

    def _result(self, future: Any) -> list[str]:
        try:
            lines: list[str] = future.result()
        except Exception as error:  # noqa: BLE001 - any error here means that a finished result is lost
            raise _SchedulerLost(f"{type(error).__name__}: {error}") from None
        return lines

    def _handle_failure(self, future: Any, batch: Batch) -> list[JobRecord]:
        """Return a failed record, or run the jobs of the batch again.

        A batch of several jobs is split in halves, which become suspects.  Suspects run after all other batches, one at
        a time.  A single job that kills its workers then gets a failed record.
        """
        if future.status != "error":
            raise _SchedulerLost("the connection broke")
        error = future.exception()
        if isinstance(error, InputError):
            raise error
        if not isinstance(error, self._worker_died):  # `diagnose_task` raises for no log, so every batch would fail
            why, cure = f"{type(error).__name__}: {error}", "install the same version of logdoctor on every worker"
            raise InputError("the workers cannot do the work", self._address, why, cure)
        if len(batch) > 1:
            half = len(batch) // 2
            self._suspects.extendleft((batch[half:], batch[:half]))
            return []
        if not self._one_by_one:  # Dask blames every batch that waited at the dead worker
            self._suspects.append(batch)
            return []
        problem = Problem(
            "was not diagnosed", batch[0].name, "each worker that diagnosed it died", "scan again: --retry"
        )
        return [make_failed_record(batch[0], "died", problem)]


def _make_batches(jobs: Sequence[JobFiles]) -> Iterator[Batch]:
    """Split ``jobs`` into batches.  Small tasks share a batch."""
    batch, size = list[JobFiles](), 0
    for task in make_tasks(jobs):
        weight = BATCH_BYTES if task.jobs[0].members else task.jobs[0].size
        if batch and (len(batch) >= BATCH_JOBS or size + weight > BATCH_BYTES):
            yield tuple(batch)
            batch, size = [], 0
        batch += task.jobs
        size += weight
    if batch:
        yield tuple(batch)


# ── in a worker ─────────────────────────────────────────────────────────────────────────────────────────────────────

_ONE_BATCH = threading.Lock()
"""The pack cannot be shared by threads.  A worker should have one thread, but may be configured with more."""


@lru_cache(maxsize=2)
def _load_pack(rules: tuple[Path, ...]) -> Knowledge:
    """Load the pack, once per process."""
    for folder in rules:
        if not folder.is_dir():
            raise InputError("there are no rules", str(folder), "a worker does not see this folder", "share it")
    return load_worker_pack(rules)


def _run_batch(batch: Batch, seconds: float, rules: tuple[Path, ...], made_by: MadeBy) -> list[str]:
    """Diagnose the jobs of a batch and return lines of JSON."""
    with _ONE_BATCH:
        pack = _load_pack(rules)
        if pack.made_by != made_by:
            why = f"a worker has {pack.made_by}, this machine {made_by}"
            raise InputError("the workers know other rules", "logdoctor", why, "install the same version everywhere")
        lines = [record.to_line() for task in make_tasks(batch) for record in _diagnose_with_limit(task, pack, seconds)]
        regexes.keep()
        return lines


def _diagnose_with_limit(task: Task, pack: Knowledge, seconds: float) -> Iterator[JobRecord]:
    """Diagnose a task, but end the process if the task hangs. Dask then starts a new worker."""
    timer = threading.Timer(seconds * len(task.jobs) + GRACE_SECONDS, os._exit, (1,))
    timer.daemon = True
    timer.start()
    try:
        yield from diagnose_task(task, pack, seconds)
    finally:
        timer.cancel()

"""The engine with worker processes on this machine.

If a worker dies or takes too long, Pebble's pool replaces the worker and continues with the remaining tasks.  The pool
of the standard library would give up all of them (`concurrent.futures.process.BrokenProcessPool`).
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait  # noqa: A004 - older than the builtin
from pathlib import Path
from typing import Any

from logdoctor.archive.checkpoint_log import CheckpointLog, CheckpointWriter, ResultsNotWritable
from logdoctor.archive.diagnose_task import Task, diagnose_task, load_worker_pack
from logdoctor.archive.engines import Work
from logdoctor.archive.record import Status, make_failed_record
from logdoctor.model import Problem
from logdoctor.pack import regexes

TASKS_PER_WORKER = 4
"""Tasks that are scheduled at the same time, per worker."""
GRACE_SECONDS, GRACE_SHARE = 5.0, 0.2
"""Extra time after the job limit, the longer of both.  A worker that has not stopped the job itself by then is killed,
because it waits for a read that never ends."""

STORE_EVERY = 64
"""Number of tasks after which a worker stores the regular expressions that it compiled."""

_worker: _Worker | None = None


def run(work: Work) -> Iterator[int]:
    """Run ``work`` as `logdoctor.archive.engines` says."""
    from pebble import ProcessPool

    waiting = deque(work.tasks)
    running: dict[Future[int], Task] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPool(work.workers, initializer=_start, initargs=(work.folder, work.rules), context=context) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < TASKS_PER_WORKER * work.workers:
                    task = waiting.popleft()
                    limit = work.seconds * len(task.jobs)
                    limit += max(GRACE_SECONDS, limit * GRACE_SHARE)
                    running[pool.schedule(_run_task, args=(task, work.seconds), timeout=limit)] = task
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    task = running.pop(future)
                    count, rest = _count_finished(future, task, work)
                    waiting.extendleft([rest] if rest else [])
                    yield count
        except BaseException:
            pool.stop()  # type: ignore[no-untyped-call]
            raise


class _Worker:
    """State of a worker process that lasts from task to task."""

    def __init__(self, folder: Path, rules: tuple[Path, ...]) -> None:
        self.pack, self.writer, self.tasks = load_worker_pack(rules), CheckpointWriter(folder), 0

    def run_task(self, task: Task, seconds: float) -> int:
        """Diagnose the jobs of ``task`` and return their number."""
        count = 0
        for record in diagnose_task(task, self.pack, seconds):
            self.writer.add(record)
            count += 1
        if self.tasks % STORE_EVERY == 0:
            regexes.keep()
        self.tasks += 1
        return count


def _start(folder: Path, rules: tuple[Path, ...]) -> None:
    """Initialize this worker process."""
    global _worker  # noqa: PLW0603 - a process is one worker
    _worker = _Worker(folder, rules)


def _run_task(task: Task, seconds: float) -> int:
    """Run ``task`` in this worker process."""
    assert _worker is not None  # noqa: S101 - `_start` ran
    return _worker.run_task(task, seconds)


def _count_finished(future: Future[Any], task: Task, work: Work) -> tuple[int, Task | None]:
    """Return the number of finished jobs, and a task of the rest."""
    try:
        return future.result(), None
    except ResultsNotWritable:
        raise
    except TimeoutError:
        status: Status = "stalled"
        why = f"it took much longer than the {work.seconds:g} seconds that a job may take, and was killed"
    except Exception as error:  # noqa: BLE001 - pebble.ProcessExpired, and whatever crossed the pipe
        status = "died"
        why = f"the process that diagnosed it was killed ({error})"
    return _blame_first_unfinished(task, work, status, why)


def _blame_first_unfinished(task: Task, work: Work, status: Status, why: str) -> tuple[int, Task | None]:
    """Write a failed record for the first job without a record.

    A worker diagnoses the jobs of a task in order, so it died of that job.  The jobs after it are returned as a task.
    """
    log = CheckpointLog(work.folder)
    unfinished = [job for job in task.jobs if not log.is_done(job.name, job.stamp)]
    if not unfinished:
        return len(task.jobs), None
    job, *rest = unfinished
    writer = CheckpointWriter(work.folder)
    writer.add(make_failed_record(job, status, Problem("was not diagnosed", job.name, why, "scan again: --retry")))
    writer.close()
    return len(task.jobs) - len(rest), Task(tuple(rest)) if rest else None

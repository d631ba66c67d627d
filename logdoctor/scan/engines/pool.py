"""Worker processes of this machine.

Pebble's pool replaces a worker that dies or takes too long and goes on with the other tasks; the standard library's
gives all of them up (`concurrent.futures.process.BrokenProcessPool`).
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait  # noqa: A004 - older than the builtin
from pathlib import Path
from typing import Any

from logdoctor import regexes
from logdoctor.model import Problem
from logdoctor.scan.checkpoint_log import Journal, Landing, NotKept
from logdoctor.scan.diagnose_task import Task, examine, learned
from logdoctor.scan.engines import Work
from logdoctor.scan.record import Status, failed_record

AHEAD = 4
"""So many tasks a worker are handed over at a time."""
GRACE = 30.0
"""Seconds after which a worker that should have given up a job by itself is killed."""

KEEP_EVERY = 64
"""After so many tasks a worker stores the expressions that it had to compile."""

_worker: _Worker | None = None


def run(work: Work) -> Iterator[int]:
    """See `logdoctor.scan.engines`."""
    from pebble import ProcessPool

    waiting = deque(work.tasks)
    running: dict[Future[int], Task] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPool(work.workers, initializer=_start, initargs=(work.folder, work.rules), context=context) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < AHEAD * work.workers:
                    task = waiting.popleft()
                    limit = work.seconds * len(task.jobs) + GRACE
                    running[pool.schedule(_examine, args=(task, work.seconds), timeout=limit)] = task
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    task = running.pop(future)
                    count, rest = _outcome(future, task, work)
                    waiting.extendleft([rest] if rest else [])
                    yield count
        except BaseException:
            pool.stop()  # type: ignore[no-untyped-call]
            raise


class _Worker:
    """What a worker process keeps from task to task."""

    def __init__(self, folder: Path, rules: tuple[Path, ...]) -> None:
        self.known, self.landing, self.tasks = learned(rules), Landing(folder), 0

    def examine(self, task: Task, seconds: float) -> int:
        """Diagnose the jobs of ``task``; how many there were."""
        count = 0
        for record in examine(task, self.known, seconds):
            self.landing.add(record)
            count += 1
        if self.tasks % KEEP_EVERY == 0:
            regexes.keep()
        self.tasks += 1
        return count


def _start(folder: Path, rules: tuple[Path, ...]) -> None:
    """What a worker does first."""
    global _worker  # noqa: PLW0603 - a process is one worker
    _worker = _Worker(folder, rules)


def _examine(task: Task, seconds: float) -> int:
    """What a worker does for a task."""
    assert _worker is not None  # noqa: S101 - `_start` ran
    return _worker.examine(task, seconds)


def _outcome(future: Future[Any], task: Task, work: Work) -> tuple[int, Task | None]:
    """How many jobs of a task that ended are done, and the task of those that are not."""
    try:
        return future.result(), None
    except NotKept:
        raise
    except TimeoutError:
        status: Status = "stalled"
        why = f"it took much longer than the {work.seconds:g} seconds that a job may take, and was killed"
    except Exception as error:  # noqa: BLE001 - pebble.ProcessExpired, and whatever crossed the pipe
        status = "died"
        why = f"the process that diagnosed it was killed ({error})"
    return _after_a_death(task, work, status, why)


def _after_a_death(task: Task, work: Work, status: Status, why: str) -> tuple[int, Task | None]:
    """The first job of the task that has not landed broke the worker; those after it are still to do."""
    landed = Journal(work.folder)
    left = [job for job in task.jobs if not landed.has(job.name, job.stamp)]
    if not left:
        return len(task.jobs), None
    landing = Landing(work.folder)
    landing.add(failed_record(left[0], status, Problem("was not diagnosed", left[0].name, why, "scan again: --retry")))
    landing.close()
    return len(task.jobs) - len(left) + 1, Task(tuple(left[1:])) if left[1:] else None

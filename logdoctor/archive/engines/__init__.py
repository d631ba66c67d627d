"""Engines that run the tasks of a scan.

The engines are this process, a pool of processes, and a Dask cluster.  Each module is one engine with a function
``run(work: Work) -> Iterator[int]``.  ``run`` writes the record of each job to the folder of the scan.  It yields the
number of jobs that finished since the last yield.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from logdoctor.archive.diagnose_task import Task


class Work(Struct, frozen=True):
    """The tasks of a scan and the settings of its engine.

    - ``seconds``: time limit of one job.
    - ``rules``: folders with the user's own rules.
    - ``workers``: number of processes.
    - ``scheduler``: address of a running Dask scheduler.
    - ``cluster``: program that starts a cluster (``slurm`` or ``kubernetes``), with its ``options``.
    """

    tasks: tuple[Task, ...]
    folder: Path
    seconds: float
    rules: tuple[Path, ...] = ()
    workers: int = 1
    scheduler: str = ""
    cluster: str = ""
    options: tuple[tuple[str, Any], ...] = ()

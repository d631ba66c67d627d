"""Who does the work of a scan: this process, worker processes of this machine, a cluster.  One file an engine.

An engine is a function ``run(work: Work) -> Iterator[int]``.  It has each task's records written to the folder of the
scan as they come, and yields how many jobs have come in since.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from logdoctor.scan.diagnose_task import Task


class Work(Struct, frozen=True):
    """What an engine needs to know.

    ``seconds``: how long one job may take; ``rules``: folders of rules of the user's own; ``workers``: how many
    processes; ``scheduler``: the address of a cluster's scheduler; ``cluster``: who starts one (slurm, kubernetes),
    with ``options``.
    """

    tasks: tuple[Task, ...]
    folder: Path
    seconds: float
    rules: tuple[Path, ...] = ()
    workers: int = 1
    scheduler: str = ""
    cluster: str = ""
    options: tuple[tuple[str, Any], ...] = ()

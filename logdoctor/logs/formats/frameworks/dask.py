r"""Workers of Dask (nanny, scheduler) and Parsl (interchange).

- ``dask.worker_exit`` pid, exit_code (minus the signal's number): how a worker process ended
- ``dask.memory`` host, pid, percent: a nanny ends its worker for its memory
- ``dask.start`` message: a worker did not come up; ``dask.task_failed`` message, count: a task took its workers along
- ``parsl.lost`` host, message: Parsl hears no more of a manager (one a node) or of a worker of it

Sources: dask/distributed 2.x to 2025.x, nanny.py and scheduler.py; Parsl 0.7 to 2025, high_throughput/errors.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Value

_SIGTERM = 15
_AGAIN, _SOON = "Restarting worker", 6
"""Line of a nanny below the unexpected end of a worker. Many nannies write into one log."""


def read_exit(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Set level info for a worker that its cluster ended on purpose.

    A cluster that is scaled down or closed ends workers with SIGTERM and does not restart them.
    """
    signal = fields.get("signal")
    if not isinstance(signal, int):
        return Multiline(head.text)
    wanted = signal == _SIGTERM and not any(_AGAIN in message.text for message in islice(below, _SOON))
    return Multiline(head.text, {"exit_code": -signal}, level="info" if wanted else None)


RECORDS = (
    RecordPattern("parsl.lost", r"\b(?P<message>(?:ManagerLost|WorkerLost): Task failure due to loss of (?:manager|Manager|"
           r"worker) \S{1,60} on host (?P<host>[\w-]+(?:\.[\w-]+){0,8}))", "error",
           note="Parsl hears no more of the processes on this node.", priority=2,
           scan=r"Lost: Task failure due to loss of \w+ \S{1,60} on host "),
    RecordPattern("dask.worker_exit", r"\bWorker process (?P<pid>\d+) (?:was killed by signal (?P<signal>\d+)|"
           r"exited with status (?P<exit_code>[1-9]\d*))", "error", read_exit, "Dask's nanny saw its worker end."),
    RecordPattern("dask.worker_exit", r"\bWorker process (?P<pid>\d+) was killed by unknown signal", "error",
           note="Dask's nanny saw its worker end."),
    RecordPattern("dask.memory", r"\b(?P<message>Worker (?:\w{2,8}://(?!127\.|localhost|\[)(?P<host>[\w.-]+):\d+ |\S{1,120} )?"
           r"(?:\(pid=(?P<pid>\d+)\) )?exceeded (?P<percent>\d+)% memory budget)", "error",
           note="Dask's nanny ends a worker that uses too much memory."),
    RecordPattern("dask.killed", r"\b(?P<message>KilledWorker: (?:Attempted to run task |\(').*)", "error",
           note="A task of Dask ended with the workers that ran it.", priority=-3),
    RecordPattern("dask.start", r"\b(?P<message>Failed to (?:start worker process|initialize Worker|start process|connect to "
           r"process)\b.*|Nanny failed to start.*)", "error", note="A worker of Dask did not come up.",
           scan=r"nanny - \w+ - Failed to (?:start|init|connect)|Nanny failed to start|Failed to start worker process"),
    RecordPattern("dask.task_failed", r"(?P<message>Task \S.{0,120} marked as failed because (?P<count>\d+) workers died "
           r"while trying to run it)", "error", note="A task of Dask ended with the workers that ran it.",
           scan=r"marked as failed because \d+ workers died"),
)  # fmt: skip

SIGNS: LifecycleSigns = {
    "dask.worker_exit": ("end told",),
}

"""Subject of the last words of a process: itself, its peers, or an order to end.

An exception about peers follows from the end of another process. Examples: a lost connection, a time-out while waiting,
the report of a parent process about its child.
"""

from __future__ import annotations

from logdoctor.model import LifecycleSign
from logdoctor.pack.regexes import later

SEARCHED = 4000
_PEERS = later(
    r"(?i)closed by (?:remote )?peer|reset by peer|broken pipe|timed? ?out|ncclRemoteError|remote process exited|"
    r"unhandled system error|communicator was aborted|shut ?down|TCPStore|store->|SignalException|KeyboardInterrupt|"
    r"ChildFailedError|ProcessExitedException|ProcessRaisedException|HorovodInternalError|[a-z]DiedError|ActorUnavailable|"
    r"CheckpointException ranks|WorkerCrashed|EOFError|NCCL error|Connection (?:refused|closed|lost)|eof \(this error|"
    r"CalledProcessError|died with|MPI_ERR_(?:PROC|REVOKED|OTHER|INTERN|UNKNOWN|PORT|SERVICE)|watchdog|heartbeat|"
    r"exited unexpectedly|monitoredBarrier"
)
_ORDER = later(r"(?i)\bsignal\b|\bSIG[A-Z]{3,5}\b|preempt|time ?limit|wall ?time|interrupt|cancel|deadline|\bstop")
"""Exceptions that a program may raise because it was ordered to end."""


def add_subject(signs: tuple[LifecycleSign, ...], text: str) -> tuple[LifecycleSign, ...]:
    """Add ``about peers`` and ``about order`` to the signs of a process that says why it ends."""
    if "own end" not in signs:
        return signs
    words = text[:SEARCHED]
    about: tuple[LifecycleSign, ...] = ("about peers",) if _PEERS.search(words) else ()
    return (*signs, *about, "about order") if _ORDER.search(words) else (*signs, *about)

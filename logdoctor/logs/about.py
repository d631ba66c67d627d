"""Subject of the last words of a process: itself, its peers, or an order to end.

An exception about peers follows from the end of another process. Examples: a lost connection, a time-out while waiting,
the report of a parent process about its child.
"""

from __future__ import annotations

from logdoctor.model import LifecycleSign, Tell
from logdoctor.pack.regexes import later

SEARCHED = 4000
_PEERS = later(
    r"(?i)closed by (?:remote )?peer|got 0 bytes|Connection was likely|DistNetworkError|"
    r"reset by peer|broken pipe|timed? ?out|ncclRemoteError|remote process exited|"
    r"unhandled system error|communicator was aborted|shut ?down|TCPStore|store->|SignalException|KeyboardInterrupt|"
    r"ChildFailedError|ProcessExitedException|ProcessRaisedException|HorovodInternalError|[a-z]DiedError|ActorUnavailable|"
    r"CheckpointException ranks|WorkerCrashed|EOFError|NCCL error|Connection (?:refused|closed|lost)|eof \(this error|"
    r"CalledProcessError|died with|MPI_ERR_(?:PROC|REVOKED|OTHER|INTERN|UNKNOWN|PORT|SERVICE)|watchdog|heartbeat|"
    r"exited unexpectedly|monitoredBarrier"
)
_ORDER = later(r"(?i)\bsignal\b|\bSIG[A-Z]{3,5}\b|preempt|time ?limit|wall ?time|interrupt|cancel|deadline|\bstop")
"""Exceptions that a program may raise because it was ordered to end."""
_SUBJECTS: dict[tuple[Tell, ...], LifecycleSign] = {
    tells: LifecycleSign(tells=tells) for tells in (("about peers",), ("about order",), ("about peers", "about order"))
}


def add_subject(signs: tuple[LifecycleSign, ...], text: str) -> tuple[LifecycleSign, ...]:
    """Add a sign to those of a process that says why it ends, if that is about peers or an order to end."""
    if not any(sign.mark == "fails" and sign.of == "process" for sign in signs):
        return signs
    words = text[:SEARCHED]
    tells = (*(("about peers",) if is_about_peers(words) else ()), *(("about order",) if _ORDER.search(words) else ()))
    return (*signs, _SUBJECTS[tells]) if tells else signs


def is_about_peers(text: str) -> bool:
    """Return whether an error follows from the end of another process."""
    return _PEERS.search(text[:SEARCHED]) is not None

"""Exceptions that follow from the end of another process.

Examples: a lost connection, a timeout while waiting, the report of a parent process about its child.
"""

from __future__ import annotations

from logdoctor.pack.regexes import later

SEARCHED = 4000
_FALLOUT = later(
    r"(?i)closed by (?:remote )?peer|reset by peer|broken pipe|timed? ?out|ncclRemoteError|remote process exited|"
    r"unhandled system error|communicator was aborted|shut ?down|TCPStore|store->|SignalException|KeyboardInterrupt|"
    r"ChildFailedError|ProcessExitedException|ProcessRaisedException|HorovodInternalError|ActorDied|ActorUnavailable|"
    r"WorkerCrashed|EOFError|NCCL error|Connection (?:refused|closed|lost)|eof \(this error|CalledProcessError|"
    r"died with|MPI_ERR|watchdog|heartbeat|exited unexpectedly|monitoredBarrier"
)


def may_be_fallout(text: str) -> bool:
    """Return whether the end of another process may cause this exception."""
    return _FALLOUT.search(text[:SEARCHED]) is not None

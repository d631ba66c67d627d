"""Processes that ended by themselves.

Reports of their peers and later crashes are consequences.
"""

from __future__ import annotations

from logdoctor.model import Finding, Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.causality.precedence import first_with_time, is_late
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.fallout import may_be_fallout

SEARCHED = 4000
STACK_LINES = 20
"""Number of lines that a run-time or a launcher may print below a failure that ended the program."""
OBSERVER_SIGNATURES = frozenset(
    ("collective.timeout", "collective.heartbeat", "collective.rank-died", "net.peer-closed", "rdzv.store-lost")
)
"""Signatures that a process reports if it waits for a peer or lost it."""
CRASHED, ABORTED = "app.segfault", "mpi.abort"
PREEMPTED = "job.preempted"
TIME_LIMIT = "job.time-limit"
_ORDERED = later(r"(?i)\bsignal\b|\bSIG[A-Z]{3,5}\b|preempt|time ?limit|wall ?time|interrupt|cancel|deadline|\bstop")
"""Exceptions that a program may raise because it was ordered to end."""
_FAULT = later(r"(?i)segmentation fault|segfault|SIGSEGV|bus error|SIGBUS|illegal instruction|SIGILL|SIGFPE")
"""Crash in native code.  SIGABRT is missing, because a process that gave up on its peers ends itself with it."""


def is_only_observation(observed: Finding, end: Finding, state: JobState) -> bool:
    """Return whether ``observed`` only reports another process's end.

    ``end`` shows that end. ``end`` is the exception or crash of one process, and not about its peers. ``observed`` is a
    report of other processes. It may also be an order to end the job without a reason, unless the order surely came
    first, because launchers end the remaining processes.
    """
    if not _is_of_one_process(end) or not _is_own_failure(end):
        return False
    if observed.rule.signature in OBSERVER_SIGNATURES:
        return _is_elsewhere(observed, end)
    if observed.rule.signature == "rdzv.timeout":
        return _is_elsewhere(observed, end) and not state.surely_after(end.records[0], observed.records[0])
    if observed.rule.signature != PREEMPTED or observed.rule.role != "fallback":
        return False
    return not any(state.surely_after(e, observed.records[0]) for e in (end.records[0], first_with_time(end)))


def crashed_after_exception(end: Finding, crash: Finding, state: JobState) -> bool:
    """Return whether ``crash`` follows a process's own exception.

    The exception is ``end``. The exception is printed first.
    """
    if crash.rule.signature != CRASHED or not is_late(crash) or not _is_own_final_message(end):
        return False
    same_process = end.ranks == crash.ranks and (len(end.ranks) == 1 or len(state.places.ranks) < 2)
    return same_process and end.records[0].line.file == crash.records[0].line.file and end.first < crash.first


def crashed_after_abort(order: Finding, crash: Finding, _: JobState) -> bool:
    """Return whether ``crash`` follows another process's MPI_Abort.

    The abort is ``order``.
    """
    if crash.rule.signature != CRASHED or order.rule.signature != ABORTED or crash.first < order.first:
        return False
    abort, fault = order.records[0], crash.records[0]
    if order.rule.role != "cause" and not abort.reports_end_of_other:
        return False
    return abort.line.file == fault.line.file and _of_two_processes(abort, fault)


def stalled_until_time_limit(end: Finding, limit: Finding, state: JobState) -> bool:
    """Return whether the job stalled after ``end`` until its time limit.

    ``end`` is a rank's own failure. An exception that an order to end raises is no failure of its own, and comes after
    the order. Without a rank, ``end`` may be of another program in the job script. Then either all progress was made
    before ``end``, or only a stack fits between ``end`` and the time limit.
    """
    if limit.rule.signature != TIME_LIMIT or not _is_own_failure(end) or end.first > limit.first:
        return False
    failure, order = end.records[0], limit.records[0]
    if "went_on" in failure.fields:
        return False
    if not end.ranks and not state.stepped_until(failure) and not _stand_together(failure, order):
        return False
    return not _ORDERED.search(failure.text[:SEARCHED]) and not state.surely_after(failure, order)


def aborted_after_wait(report: Finding, end: Finding, _: JobState) -> bool:
    """Return whether ``end`` is the SIGABRT of ranks that waited.

    They had reported a peer that they waited for or lost.
    """
    if end.rule.signature != CRASHED or report.rule.signature not in OBSERVER_SIGNATURES or not end.ranks:
        return False
    return set(end.ranks) <= set(report.ranks) and not _is_fault(end) and is_late(end)


def _is_own_failure(end: Finding) -> bool:
    """Return whether a process reports its own failure.

    It is an exception, a crash or a final message.
    """
    return _is_fault(end) if end.rule.signature == CRASHED else _is_own_final_message(end)


def _is_own_final_message(end: Finding) -> bool:
    """Return whether a process reports its own end.

    A message about its peers does not count.
    """
    record = end.records[0]
    own = end.rule.role == "fallback" and record.reports_own_end and record.level == "fatal"
    return own and not may_be_fallout(record.text)


def _is_fault(crash: Finding) -> bool:
    return _FAULT.search(crash.records[0].text[:SEARCHED]) is not None


def _is_of_one_process(end: Finding) -> bool:
    """Return whether the finding is of one process.

    It has one rank, or one file if the rank is unknown.
    """
    return len(end.ranks) == 1 or (not end.ranks and len(_files(end)) == 1)


def _is_elsewhere(observed: Finding, end: Finding) -> bool:
    """Return whether other processes than that of ``end`` report ``observed``.

    An agent of torchrun is another process.
    """
    if end.ranks:
        by_agent = observed.records[0].format == "elastic"
        return end.ranks[0] not in observed.ranks if observed.ranks else by_agent
    return not observed.ranks and _files(observed).isdisjoint(_files(end))


def _files(finding: Finding) -> set[str]:
    return {record.line.file for record in finding.records}


def _stand_together(above: Record, below: Record) -> bool:
    """Return whether at most a stack fits between the records."""
    same = above.line.file == below.line.file
    return same and 0 <= below.line.number - above.line.number - above.span <= STACK_LINES


def _of_two_processes(a: Record, b: Record) -> bool:
    """Return whether the records are surely of two processes."""
    if None not in (a.rank, b.rank):
        return a.rank != b.rank
    if None in (a.pid, b.pid):
        return False
    return a.pid != b.pid or (None not in (a.host, b.host) and a.host != b.host)

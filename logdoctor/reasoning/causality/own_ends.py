"""Processes that ended by themselves: what others see of such an end, and how the process then breaks down."""

from __future__ import annotations

from logdoctor.model import Finding, Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.causality.fallout import may_be_fallout
from logdoctor.reasoning.causality.precedence import is_late, stamped
from logdoctor.reasoning.job_state import JobState

SEARCHED = 4000
STACK_LINES = 20
"""So many lines a run-time or a launcher may print below a failure that ended the program."""
SEEN_FROM_OUTSIDE = frozenset(
    ("collective.timeout", "collective.heartbeat", "collective.rank-died", "net.peer-closed", "rdzv.store-lost")
)
"""What processes report that wait for another one, or lost it."""
CRASHED, ABORTED = "app.segfault", "mpi.abort"
TOLD_TO_END = "job.preempted"
TIME_UP = "job.time-limit"
_ORDERED = later(r"(?i)\bsignal\b|\bSIG[A-Z]{3,5}\b|preempt|time ?limit|wall ?time|interrupt|cancel|deadline|\bstop")
"""Exceptions that a program's own handler of such an order may raise."""
_FAULT = later(r"(?i)segmentation fault|segfault|SIGSEGV|bus error|SIGBUS|illegal instruction|SIGILL|SIGFPE")
"""A crash in native code; SIGABRT is how processes end themselves that gave up on others."""


def only_saw(seen: Finding, end: Finding, job_summary: JobState) -> bool:
    """Whether ``end`` is one process' own exception or crash, not about others, and ``seen`` what others report then.

    Or that the job was told to end, nobody says why, and not surely before that: launchers end what is left.
    """
    if not _is_of_one(end) or not _is_own_failure(end):
        return False
    if seen.rule.signature in SEEN_FROM_OUTSIDE:
        return _is_elsewhere(seen, end)
    if seen.rule.signature == "rdzv.timeout":
        return _is_elsewhere(seen, end) and not job_summary.surely_after(end.records[0], seen.records[0])
    if seen.rule.signature != TOLD_TO_END or seen.rule.role != "fallback":
        return False
    return not any(job_summary.surely_after(e, seen.records[0]) for e in (end.records[0], stamped(end)))


def crashed_at_its_end(end: Finding, crash: Finding, job_summary: JobState) -> bool:
    """Whether ``crash`` is how a process broke down whose own exception had ended it: what ends it is printed first."""
    if crash.rule.signature != CRASHED or not is_late(crash) or not _is_own_last_word(end):
        return False
    one = end.ranks == crash.ranks and (len(end.ranks) == 1 or len(job_summary.places.ranks) < 2)
    return one and end.records[0].line.file == crash.records[0].line.file and end.first < crash.first


def crashed_when_told_to_end(order: Finding, crash: Finding, _: JobState) -> bool:
    """Whether ``crash`` came over a process after another one had told MPI to end all of them."""
    if crash.rule.signature != CRASHED or order.rule.signature != ABORTED or crash.first < order.first:
        return False
    told, fell = order.records[0], crash.records[0]
    if order.rule.role != "cause" and "end told" not in told.signs:
        return False
    return told.line.file == fell.line.file and _of_two_processes(told, fell)


def stood_until_time_was_up(end: Finding, seen: Finding, job_summary: JobState) -> bool:
    """Whether ``end`` is a rank's own failure after which the job only stood, until its time was up as ``seen`` says.

    What processes raise because they are told to end is no failure of their own, and comes after the order.  Where
    no rank is named it may be one program of several in a job script: unless it was the one that made progress, or
    nothing was printed below it.
    """
    if seen.rule.signature != TIME_UP or not _is_own_failure(end) or end.first > seen.first:
        return False
    failure, order = end.records[0], seen.records[0]
    if "went_on" in failure.fields:
        return False
    if not end.ranks and not job_summary.stepped_until(failure) and not _stand_together(failure, order):
        return False
    return not _ORDERED.search(failure.text[:SEARCHED]) and not job_summary.surely_after(failure, order)


def gave_up(told: Finding, end: Finding, _: JobState) -> bool:
    """Whether ``end`` is but the SIGABRT of ranks that themselves ``told`` of others that they waited for or lost."""
    if end.rule.signature != CRASHED or told.rule.signature not in SEEN_FROM_OUTSIDE or not end.ranks:
        return False
    return set(end.ranks) <= set(told.ranks) and not _is_fault(end) and is_late(end)


def _is_own_failure(end: Finding) -> bool:
    """Whether it is a process' own exception, crash, or last word as simulation codes and run-times print it."""
    return _is_fault(end) if end.rule.signature == CRASHED else _is_own_last_word(end)


def _is_own_last_word(end: Finding) -> bool:
    """The same without crashes: what a process itself said when it ended, unless it speaks of others."""
    record = end.records[0]
    own = end.rule.role == "fallback" and "own end" in record.signs and record.level == "fatal"
    return own and not may_be_fallout(record.text)


def _is_fault(crash: Finding) -> bool:
    return _FAULT.search(crash.records[0].text[:SEARCHED]) is not None


def _is_of_one(end: Finding) -> bool:
    """Whether it tells of one process: one rank, or one file where nobody knows the rank."""
    return len(end.ranks) == 1 or (not end.ranks and len(_files(end)) == 1)


def _is_elsewhere(seen: Finding, end: Finding) -> bool:
    """Whether other processes than that of ``end`` report ``seen``; an agent of torchrun is no rank."""
    if end.ranks:
        by_agent = seen.records[0].format == "elastic"
        return end.ranks[0] not in seen.ranks if seen.ranks else by_agent
    return not seen.ranks and _files(seen).isdisjoint(_files(end))


def _files(finding: Finding) -> set[str]:
    return {record.line.file for record in finding.records}


def _stand_together(above: Record, below: Record) -> bool:
    """Whether there is room for no more than a stack between the two."""
    same = above.line.file == below.line.file
    return same and 0 <= below.line.number - above.line.number - above.span <= STACK_LINES


def _of_two_processes(a: Record, b: Record) -> bool:
    """Whether rank, process or host tell that they are not of one process."""
    if None not in (a.rank, b.rank):
        return a.rank != b.rank
    if None in (a.pid, b.pid):
        return False
    return a.pid != b.pid or (None not in (a.host, b.host) and a.host != b.host)

"""Which of two findings came first: by time, by place, and by who reports at once and who later."""

from __future__ import annotations

from logdoctor.model import Finding, Record
from logdoctor.reasoning.causality.merit import order_of_merit
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import moment

_LATE_REPORTERS = ("kernel", "slurm", "elastic", "batch", "kubernetes", "ray")
"""Formats that speak of the past: what they report happened before they print it."""
_PROMPT = ("slurm.cancelled", "slurm.terminating", "slurm.stopped", "elastic.signal_received")
"""Their lines that are printed when it happens."""
_WAITED_AND_LEFT = ("collective.timeout", "net.peer-closed")
"""What a rank says that gave up waiting, and what others see of it when it then leaves."""


def speaks_of_the_past(record: Record) -> bool:
    """Whether ``event`` is of a reporter that tells later what happened."""
    return record.format in _LATE_REPORTERS and record.kind not in _PROMPT


def is_late(finding: Finding) -> bool:
    """Whether it rests on such a report, or on a shell's words about its child."""
    record = finding.records[0]
    return "signal_text" in record.fields if record.kind == "crash.signal" else speaks_of_the_past(record)


def same_process_later(a: Finding, b: Finding) -> bool:
    """``a`` began only after all of ``b`` in the one process that both speak of."""
    if is_late(a) or a.rule.signature == b.rule.signature:
        return False
    same = len(a.ranks) == 1 and a.ranks == b.ranks
    return same and a.first > b.last


def before(a: Finding, b: Finding, job_summary: JobState) -> bool:
    """``a`` comes first: stronger of two variants of one signature, late reporters first, then time, then place.

    In files without times, ranks that left because they had waited too long come before those that see them leave.
    """
    if a.rule.signature == b.rule.signature:
        return order_of_merit(a) < order_of_merit(b)
    if is_late(a) != is_late(b):
        return is_late(a)
    waited_and_left = sorted((a.rule.signature, b.rule.signature)) == [*_WAITED_AND_LEFT]
    if waited_and_left and _stands_anywhere(a) and _stands_anywhere(b):
        return a.rule.signature == _WAITED_AND_LEFT[0]
    if _first_event(a).line.file != _first_event(b).line.file:
        seconds, _ = job_summary.seconds_between(stamped(a), stamped(b))
        if seconds is not None:
            return (0.0, a.first) < (seconds, b.first)
        if waited_and_left:
            return a.rule.signature == _WAITED_AND_LEFT[0]
    return (a.first, a.rule.id) < (b.first, b.rule.id)


def _stands_anywhere(finding: Finding) -> bool:
    """Whether it rests on exceptions without a time alone: ranks that end together print those in any order."""
    return all(e.format == "python" and moment(e) is None for e in finding.records)


def _first_event(finding: Finding) -> Record:
    return min(finding.records, key=lambda e: e.order)


def stamped(finding: Finding) -> Record:
    """Its first event with a time: an exception has none, but who reports the end of its process may have one."""
    ordered = sorted(finding.records, key=lambda e: e.order)
    return next((e for e in ordered if moment(e) is not None), ordered[0])

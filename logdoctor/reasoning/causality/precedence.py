"""Order of two findings by time, position and kind of source."""

from __future__ import annotations

from logdoctor.model import Finding, Record
from logdoctor.reasoning.causality.merit import sort_key
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import moment

_LATE_REPORTERS = ("kernel", "slurm", "elastic", "batch", "kubernetes", "ray")
"""Formats that report an event some time after it happened."""
_PROMPT = ("slurm.cancelled", "slurm.terminating", "slurm.stopped", "elastic.signal_received")
"""Kinds of these formats that are printed at once."""
_WAITED_AND_LEFT = ("collective.timeout", "net.peer-closed")
"""Signatures of a rank that gave up waiting, and of its peers when it then leaves."""


def is_late_report(record: Record) -> bool:
    """Return whether the source reports events after they happened."""
    return record.format in _LATE_REPORTERS and record.kind not in _PROMPT


def is_late(finding: Finding) -> bool:
    """Return whether the finding rests on a late report.

    A shell's message about its child is one too.
    """
    record = finding.records[0]
    return "signal_text" in record.fields if record.kind == "crash.signal" else is_late_report(record)


def same_process_later(a: Finding, b: Finding) -> bool:
    """Return whether ``a`` began after ``b`` in one process."""
    if is_late(a) or a.rule.signature == b.rule.signature:
        return False
    same = len(a.ranks) == 1 and a.ranks == b.ranks
    return same and a.first > b.last


def before(a: Finding, b: Finding, state: JobState) -> bool:
    """Return whether ``a`` comes first.

    Of two variants of one signature the better one comes first. Else late reports come first, then the earlier time,
    then the earlier position. Without times, ranks that gave up waiting come before ranks that see them leave.
    """
    if a.rule.signature == b.rule.signature:
        return sort_key(a) < sort_key(b)
    if is_late(a) != is_late(b):
        return is_late(a)
    waited_and_left = sorted((a.rule.signature, b.rule.signature)) == [*_WAITED_AND_LEFT]
    if waited_and_left and _is_unordered(a) and _is_unordered(b):
        return a.rule.signature == _WAITED_AND_LEFT[0]
    if _first_record(a).line.file != _first_record(b).line.file:
        seconds, _ = state.seconds_between(first_with_time(a), first_with_time(b))
        if seconds is not None:
            return (0.0, a.first) < (seconds, b.first)
        if waited_and_left:
            return a.rule.signature == _WAITED_AND_LEFT[0]
    return (a.first, a.rule.id) < (b.first, b.rule.id)


def _is_unordered(finding: Finding) -> bool:
    """Return whether all its records are exceptions without a time.

    Ranks that end together print their exceptions in any order.
    """
    return all(e.format == "python" and moment(e) is None for e in finding.records)


def _first_record(finding: Finding) -> Record:
    return min(finding.records, key=lambda e: e.order)


def first_with_time(finding: Finding) -> Record:
    """Return the first record with a time.

    Return the first record if none has a time. An exception has no time, but the report on the end of its process may
    have one.
    """
    ordered = sorted(finding.records, key=lambda e: e.order)
    return next((e for e in ordered if moment(e) is not None), ordered[0])

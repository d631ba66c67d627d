"""Facts about the lives behind two findings: who, where, how ended, and in which order.

The causality asks only this module for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from logdoctor.model import Arrow, Finding, Record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import moment
from logdoctor.reasoning.lifecycle.ends import signal_of

LONG_AGO = 6 * 3600.0
"""Seconds.  A machine's log holds failures of earlier jobs too."""
STACK_LINES = 20
"""Number of lines that a run-time or a launcher may print below a failure that ended the program."""
FAULTS = (4, 7, 8, 9, 11)
"""Signals with which no process ends itself."""


# ── who and where ───────────────────────────────────────────────────────────────────────────────────────────────────


def share_device(a: Finding, b: Finding, state: JobState) -> bool:
    """Return whether both may be of one device. An unknown device may be any."""
    return _share(a, b, lambda e: e.fields.get("bus_id")) and share_host(a, b, state)


def share_host(a: Finding, b: Finding, state: JobState) -> bool:
    """Return whether both may be of one host. An unknown host may be any."""
    return _share(a, b, state.processes.host_of)


def _share(a: Finding, b: Finding, place: Callable[[Record], object]) -> bool:
    first, second = ({place(e) for e in f.records} for f in (a, b))
    return None in first or None in second or not first.isdisjoint(second)


def are_on_one_device(a: Record, b: Record) -> bool:
    """Return whether both surely name one device."""
    bus = a.fields.get("bus_id")
    return bus is not None and bus == b.fields.get("bus_id") and (a.host or b.host) == (b.host or a.host)


# ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def was_struck(end: Finding) -> bool:
    """Return whether the process whose end is told surely did not choose it."""
    return end.rule.role != "fallback" or any(signal_of(record) in FAULTS for record in end.records)


def ended(finding: Finding, state: JobState) -> bool:
    """Return whether a line shows that the process of a finding ended."""
    own = finding.records
    if any(e.reports_own_end or e.reports_end_of_other or e.has("fails") or e.has("is ended") for e in own):
        return True
    return any(state.processes.same(end.record, e) == "yes" for end in state.ends() for e in own)


def _stalled_until(end: Finding, order: Finding, state: JobState) -> bool:
    """Return whether the job stood still after ``end`` until somebody ended it.

    An exception that an order to end raises is no failure of its own. Without a rank, ``end`` may be of another program
    in the job script. Then either all progress was made before ``end``, or only a stack fits between the two.
    """
    failure, last = end.records[0], order.records[0]
    if end.first > order.first or "went_on" in failure.fields or failure.tells("about order"):
        return False
    gap = last.line.number - failure.line.number
    stand_together = failure.line.file == last.line.file and 0 < gap <= failure.span + STACK_LINES
    if not end.ranks and not state.stepped_until(failure) and not stand_together:
        return False
    return not state.surely_after(failure, last)


def find_recovery(finding: Finding, state: JobState) -> Record | None:
    """Return the line by which the file server of a finding answers again after it."""
    lines = [line.text for record in (*finding.records, finding.latest) for line in (record.line, *record.lines)]
    if finding.rule.failure_class != "storage fails":
        return None
    after = (e for e in state.storage_back if state.surely_after(e, finding.latest))
    return next((e for e in after if any(str(e.fields.get("thing")) in line for line in lines)), None)


# ── order ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_late(finding: Finding) -> bool:
    """Return whether the source reports events after they happened, as a shell does of its child."""
    record = finding.records[0]
    return "signal_text" in record.fields if record.kind == "crash.signal" else any(sign.late for sign in record.signs)


def is_snapshot_elsewhere(finding: Finding, state: JobState) -> bool:
    """Return whether only the state of a device shows a failure, and no line says that the device is one of the job's.

    It may be older than the job, and of a host that the job did not use.
    """
    is_snapshot = all(record.tells("snapshot") for record in finding.records)
    return is_snapshot and not any(
        state.processes.host_of(record) in state.processes.hosts for record in finding.records
    )


def is_over_before(later: Finding, earlier: Finding, state: JobState) -> bool:
    """Return whether ``earlier`` was over when ``later`` began, if both are of one process.

    Without ranks only the lines of one file have an order.
    """
    one_file = len({e.line.file for f in (later, earlier) for e in f.records}) == 1
    return (
        later.first > earlier.last
        and not is_late(later)
        and (one_file or state.processes.same(later, earlier) == "yes")
    )


def is_within(a: Finding, b: Finding, row: Arrow, state: JobState) -> bool:
    """Return whether two findings lie as close in time and order as a row of the table asks. Without times they may."""
    if row.target == "ordered" and not _stalled_until(a, b, state):
        return False
    return row.within is None or _are_within(a, b, row.within, state)


def _are_within(a: Finding, b: Finding, limit: float, state: JobState) -> bool:
    seconds, doubt = state.seconds_between(_first_with_time(a), _first_with_time(b))
    return seconds is None or abs(seconds) <= limit + doubt


def came_before(finding: Finding, recovery: Record, state: JobState) -> bool:
    """Return whether a finding surely came before a line of the kernel log.

    That log may stand anywhere in a file, so only the position of other late lines in the same file counts.
    """
    seconds, doubt = state.seconds_between(_first_with_time(finding), recovery)
    if seconds is not None:
        return seconds > doubt
    first = _first(finding)
    return is_late(finding) and first.line.file == recovery.line.file and first.order < recovery.order


def is_of_earlier_day(finding: Finding, others: Sequence[Finding], state: JobState) -> bool:
    """Return whether a failure is so much older than another that the job cannot have ended by it."""
    return not all(_are_within(finding, other, LONG_AGO, state) or before(other, finding, state) for other in others)


def before(a: Finding, b: Finding, state: JobState) -> bool:
    """Return whether ``a`` comes first.

    Late reports come first, then the earlier time, then in one file the earlier position: the order in which files are
    read tells nothing. Without times, ranks that gave up waiting come before ranks that see them leave.
    """
    if is_late(a) != is_late(b):
        return is_late(a)
    waited = a.rule.failure_class == "waits in vain"
    waited_and_left = {a.rule.failure_class, b.rule.failure_class} == {"waits in vain", "peer lost"}
    if waited_and_left and _is_unordered(a) and _is_unordered(b):
        return waited
    if _first(a).line.file != _first(b).line.file:
        seconds, _ = state.seconds_between(_first_with_time(a), _first_with_time(b))
        if not seconds:
            return False
        return seconds > 0
    return (a.first, a.rule.id) < (b.first, b.rule.id)


def _is_unordered(finding: Finding) -> bool:
    """Return whether all its records are exceptions without a time.

    Ranks that end together print their exceptions in any order.
    """
    return all(e.format == "python" and moment(e) is None for e in finding.records)


def _first(finding: Finding) -> Record:
    return min(finding.records, key=lambda e: e.order)


def _first_with_time(finding: Finding) -> Record:
    """Return the first record with a time.

    Return the first record if none has a time. An exception has no time, but the report on the end of its process may
    have one.
    """
    ordered = sorted(finding.records, key=lambda e: e.order)
    return next((e for e in ordered if moment(e) is not None), ordered[0])

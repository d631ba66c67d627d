"""The process that showed a failure first, if the log proves the order."""

from __future__ import annotations

from logdoctor.model import FirstMover, Record, Rule
from logdoctor.reasoning.findings.conditions import MatchLists
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState

Process = tuple[int | None, str | None]
"""Rank and host."""


def find_first(rule: Rule, counted: MatchLists, state: JobState) -> FirstMover | None:
    """Return the first of several processes that told of the failure themselves.

    The lowest number of a collective decides, if a detector compared the numbers. Else position decides if all of them
    write to one file, else the clock. Return None for a single process, and the proof ``not-told`` if nothing decides.
    """
    lowest = next((m.record.fields.get("lowest") for matches in counted.values() for m in matches), None)
    if isinstance(lowest, int):
        return FirstMover(lowest, state.places.host_with(lowest), by="number")
    earliest: dict[Process, Record] = {}
    for record in (m.record for matches in counted.values() for m in matches):
        process = _process(record, state)
        if process and (process not in earliest or _is_before(record, earliest[process])):
            earliest[process] = record
    if len(earliest) < 2:
        return None
    if rule.failure_class == "waits in vain":
        return FirstMover()  # who gave up first waited longest
    process, first, second = _lead(earliest)
    files = {record.line.file for record in earliest.values()}
    seconds, doubt = state.seconds_between(first, second)
    lead = round(seconds, 3) if seconds is not None and seconds >= 0 else None
    if len(files) == 1:
        return FirstMover(*process, pid=first.pid, by="order", lead_s=lead)
    if any(record.time is None for record in earliest.values()) or seconds is None or seconds <= doubt:
        return FirstMover()
    return FirstMover(*process, pid=first.pid, by="clock", lead_s=lead)


def _process(record: Record, state: JobState) -> Process | None:
    """Return the process that prints the record. Return None if somebody else tells of it."""
    told = record.format == "ledger" or record.tells("first end") or record.reports_end_of_other
    rank, host = state.places.rank_of(record), short_host(record.source.host or "") or None
    return None if told or (rank is None and host is None) else (rank, host or state.places.host_with(rank))


def _is_before(record: Record, other: Record) -> bool:
    if record.line.file == other.line.file or record.time is None or other.time is None:
        return record.order < other.order
    return record.time < other.time


def _lead(earliest: dict[Process, Record]) -> tuple[Process, Record, Record]:
    """Return the first process, its record, and the record of the second."""
    one_file = len({record.line.file for record in earliest.values()}) == 1
    ordered = sorted(earliest.items(), key=lambda row: (0.0 if one_file else row[1].time or 0.0, row[1].order))
    (process, first), (_, second) = ordered[:2]
    return process, first, second

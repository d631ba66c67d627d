"""Why one finding explains another: all reasons there are, in the order in which they decide.

A finding explains another if its rule says so (``explains``), or because of their roles: causes explain what others
see of them (symptoms), both explain the catch-alls (fallback).  Where two could explain each other, the earlier does.
What the events themselves tell goes before that.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable

from logdoctor.codes import follows
from logdoctor.model import Finding, Record
from logdoctor.reasoning.causality.merit import ROLES
from logdoctor.reasoning.causality.own_ends import (
    crashed_at_its_end,
    crashed_when_told_to_end,
    gave_up,
    only_saw,
    stood_until_time_was_up,
)
from logdoctor.reasoning.causality.precedence import before, same_process_later
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import elapsed

Reason = Callable[[Finding, Finding, JobState], bool]
"""Whether the first of two findings accounts for the second one, for this reason."""
BURST = 1.0
"""Seconds within which reports about one device are one event."""


def explains(a: Finding, b: Finding, job_summary: JobState) -> bool:
    """Whether ``a`` accounts for ``b``: the first reason that holds between the two, one way or the other, decides."""
    if a is b:
        return False
    for reason in REASONS:
        if reason(a, b, job_summary):
            return True
        if reason(b, a, job_summary):
            return False
    return False


def knows_more_of_the_line(a: Finding, b: Finding, _: JobState) -> bool:
    """Two rules claim one line and no rule file decides between them: the one that matched more of it is right."""
    same = a.records[0].order == b.records[0].order and a.rule.role == b.rule.role
    undecided = same and a.rule.signature != b.rule.signature and _named(a, b) == _named(b, a)
    return undecided and (a.width, b.rule.id) > (b.width, a.rule.id)


def brings_about_its_code(a: Finding, b: Finding, _: JobState) -> bool:
    """The catalogues know that the code of ``b`` follows that of ``a`` on one device (an Xid after another)."""
    first, second = a.records[0], b.records[0]
    return _on_one_device(first, second) and first.order < second.order and follows(second, first)


def first_of_a_burst(a: Finding, b: Finding, _: JobState) -> bool:
    """Of several reports about one device within a second, the first one counts where no rule says otherwise."""
    first, second = a.records[0], b.records[0]
    if first.kind != second.kind or not _on_one_device(first, second) or _could(a, b) or _could(b, a):
        return False
    seconds = elapsed(first, second)
    return seconds is not None and first.order < second.order and seconds <= BURST


def by_rule_and_order(a: Finding, b: Finding, job_summary: JobState) -> bool:
    """The rules or their roles say so, and nothing speaks against it; where they say so both ways, ``a`` came first."""
    return _may(a, b, job_summary) and (not _may(b, a, job_summary) or before(a, b, job_summary))


REASONS: tuple[Reason, ...] = (
    knows_more_of_the_line,
    brings_about_its_code,
    crashed_at_its_end,
    crashed_when_told_to_end,
    stood_until_time_was_up,
    gave_up,
    first_of_a_burst,
    by_rule_and_order,
)


def _may(a: Finding, b: Finding, job_summary: JobState) -> bool:
    """Nobody explains what was over before in its own process, nor an end of which it only tells what others saw."""
    return _could(a, b) and not same_process_later(a, b) and not only_saw(a, b, job_summary)


def _could(a: Finding, b: Finding) -> bool:
    """Whether rules or roles let ``a`` explain ``b``; of two variants of one signature either may."""
    if a.rule.signature == b.rule.signature:
        return True
    return _named(a, b) or ROLES.index(a.rule.role) < ROLES.index(b.rule.role)


def _named(a: Finding, b: Finding) -> bool:
    return any(fnmatch.fnmatchcase(n, g) for g in a.rule.explains for n in (b.rule.signature, b.rule.id))


def _on_one_device(a: Record, b: Record) -> bool:
    bus = a.fields.get("bus_id")
    return bus is not None and bus == b.fields.get("bus_id") and (a.host or b.host) == (b.host or a.host)

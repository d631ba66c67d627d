"""Reasons for which one finding explains another.

They are tried in their order. A finding explains another if its rule lists it (``explains``), or by role: causes
explain symptoms, and both explain fallbacks. If two findings could explain each other, the earlier one explains the
later. Reasons that rest on the records themselves are tried before the rules and roles.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable

from logdoctor.codes import follows
from logdoctor.model import Finding, Record
from logdoctor.reasoning.causality.merit import ROLES
from logdoctor.reasoning.causality.own_ends import (
    aborted_after_wait,
    crashed_after_abort,
    crashed_after_exception,
    is_only_observation,
    stalled_until_time_limit,
)
from logdoctor.reasoning.causality.precedence import before, same_process_later
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import elapsed

Reason = Callable[[Finding, Finding, JobState], bool]
"""Test whether the first finding explains the second for this reason."""
BURST = 1.0
"""Seconds.  Reports about one device within this time belong together."""


def explains(a: Finding, b: Finding, state: JobState) -> bool:
    """Return whether ``a`` explains ``b``.  The first reason that holds in either direction decides."""
    if a is b:
        return False
    for reason in REASONS:
        if reason(a, b, state):
            return True
        if reason(b, a, state):
            return False
    return False


def matches_more_of_line(a: Finding, b: Finding, _: JobState) -> bool:
    """Return whether ``a`` matched more of a shared line.

    It counts only if no rule file decides between the two.
    """
    same = a.records[0].order == b.records[0].order and a.rule.role == b.rule.role
    undecided = same and a.rule.signature != b.rule.signature and _lists(a, b) == _lists(b, a)
    return undecided and (a.match_length, b.rule.id) > (b.match_length, a.rule.id)


def precedes_by_code(a: Finding, b: Finding, _: JobState) -> bool:
    """Return whether the code of ``b`` follows that of ``a``.

    Example: two Xids of one device.
    """
    first, second = a.records[0], b.records[0]
    return _on_one_device(first, second) and first.order < second.order and follows(second, first)


def first_of_a_burst(a: Finding, b: Finding, _: JobState) -> bool:
    """Return whether ``a`` is the first report in a burst.

    A burst is reports about one device within a second. Rules take precedence.
    """
    first, second = a.records[0], b.records[0]
    if first.kind != second.kind or not _on_one_device(first, second) or _is_possible(a, b) or _is_possible(b, a):
        return False
    seconds = elapsed(first, second)
    return seconds is not None and first.order < second.order and seconds <= BURST


def by_rule_and_order(a: Finding, b: Finding, state: JobState) -> bool:
    """Return whether rules or roles let ``a`` explain ``b``.  If both directions are possible, ``a`` came first."""
    return _is_plausible(a, b, state) and (not _is_plausible(b, a, state) or before(a, b, state))


REASONS: tuple[Reason, ...] = (
    matches_more_of_line,
    precedes_by_code,
    crashed_after_exception,
    crashed_after_abort,
    stalled_until_time_limit,
    aborted_after_wait,
    first_of_a_burst,
    by_rule_and_order,
)


def _is_plausible(a: Finding, b: Finding, state: JobState) -> bool:
    """Return whether rules, roles and records let ``a`` explain ``b``.

    A finding does not explain an earlier one of its own process. A report of a process that waited does not explain
    the end of the process that it waited for.
    """
    return _is_possible(a, b) and not same_process_later(a, b) and not is_only_observation(a, b, state)


def _is_possible(a: Finding, b: Finding) -> bool:
    """Return whether rules or roles let ``a`` explain ``b``.  Variants of one signature may explain each other."""
    if a.rule.signature == b.rule.signature:
        return True
    return _lists(a, b) or ROLES.index(a.rule.role) < ROLES.index(b.rule.role)


def _lists(a: Finding, b: Finding) -> bool:
    return any(fnmatch.fnmatchcase(n, g) for g in a.rule.explains for n in (b.rule.signature, b.rule.id))


def _on_one_device(a: Record, b: Record) -> bool:
    bus = a.fields.get("bus_id")
    return bus is not None and bus == b.fields.get("bus_id") and (a.host or b.host) == (b.host or a.host)

"""Reasons for which one finding explains another.

Two findings may tell of one thing: then the better telling explains the other. Else four laws say which can have
brought about which, and if both can, time decides.

1. Same process: a failure brings about what the table says. Nothing explains what was over before in its own process.
2. Other processes: only what is seen there is explained, by the end of a life or by what a group waits for.
3. Shared place: a failure of a device, a host, a group or the job explains failures there.
4. The inside outweighs the outside: what is only seen explains nothing inside a process, but what came surely later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from logdoctor.codes import follows
from logdoctor.model import Arrow, Finding
from logdoctor.reasoning.causality import lives
from logdoctor.reasoning.causality.failure_classes import FailureClasses
from logdoctor.reasoning.job_state import JobState

Law = Literal[
    "same signature",
    "kind of",
    "because",
    "next code",
    "same line",
    "same process",
    "other process",
    "shared place",
]
FOLLOWING = ("gives up", "library reports")
"""Classes that are never first in a process that shows what leads to them."""
PLACES: dict[str, Callable[[Finding, Finding, JobState], bool]] = {
    "device": lives.share_device,
    "host": lives.share_host,
    "group": lambda *_: True,
    "job": lambda *_: True,
}
ROLES = ("cause", "symptom", "fallback", "benign")
TIERS = {"proof": 0, "strong": 0, "likely": 1, "hint": 2}
"""Order of strengths.  A proof and a strong finding are equal, so the earlier one comes first."""


class Why(Struct, frozen=True):
    """The law by which one finding explains another, and the row of the table or the reason of the rule."""

    law: Law
    row: Arrow | None = None
    reason: str = ""


def sort_key(finding: Finding) -> tuple[int, int, int, bool, str]:
    """Return the sort key of a finding.

    The best finding comes first: by role, then strength, then position in the log.
    """
    rule = finding.rule
    return ROLES.index(rule.role), TIERS[rule.strength], finding.first, rule.id == rule.signature, rule.id


def explain(a: Finding, b: Finding, classes: FailureClasses, state: JobState) -> Why | None:
    """Return why ``a`` explains ``b``, or None if it does not."""
    if a is b:
        return None
    for is_better_telling in (_has_earlier_code, _tells_more, _fits_line_better):
        if why := is_better_telling(a, b, classes, state):
            return why
        if is_better_telling(b, a, classes, state):
            return None
    forth, back = may_cause(a, b, classes, state), may_cause(b, a, classes, state)
    return forth if not back or _came_first(a, b, classes, state) else None


def may_cause(a: Finding, b: Finding, classes: FailureClasses, state: JobState) -> Why | None:
    """Return by which law ``a`` can have brought about ``b``, if their order allows it."""
    if lives.is_snapshot_elsewhere(a, state) and not lives.is_snapshot_elsewhere(b, state):
        return None
    same = state.processes.same(a, b)
    is_over = lives.is_over_before(a, b, state)
    if is_over and same == "yes":
        return None
    first, second = classes.of(a), classes.of(b)
    if (back := lives.find_recovery(a, state)) and not lives.came_before(b, back, state):
        return None  # it does not speak of storage, and the server may have been back
    rows: list[tuple[Law, Arrow | None]] = []
    if same != "no" and not is_over:
        rows.append(("same process", classes.inside(first, second)))
    row = classes.seen(first, second) if _may_be_seen(a, state) else None
    if row and (row.where == "launcher" or (_are_elsewhere(a, b) and same != "yes")):
        rows.append(("other process", row))
    if first.side == "own" or second.side == "seen" or state.surely_after(b.records[0], a.records[0]):
        rows += [("shared place", classes.at(first, second, place)) for place in PLACES if PLACES[place](a, b, state)]
    return next((Why(law, row) for law, row in rows if row and lives.is_within(a, b, row, state)), None)


def _may_be_seen(a: Finding, state: JobState) -> bool:
    """Return whether others may see what ``a`` brought about. They see of a catch-all only that its process ended."""
    return a.rule.role != "fallback" or lives.ended(a, state)


# ── two tellings of one thing ───────────────────────────────────────────────────────────────────────────────────────


def _tells_more(a: Finding, b: Finding, classes: FailureClasses, _: JobState) -> Why | None:
    """Return whether the signature or the rule of ``a`` says that it tells more than ``b``.

    Cases: corpus/no-gpus-srun, corpus/root-refused-openmpi.
    """
    if a.rule.signature == b.rule.signature or classes.of(a).id == classes.of(b).id == "ordered":
        return Why("same signature") if sort_key(a) < sort_key(b) else None
    if classes.is_narrower(a, b):
        return Why("kind of")
    names = b.rule.signature, b.rule.id
    return next((Why("because", reason=special.reason) for special in a.rule.because if special.of in names), None)


def _has_earlier_code(a: Finding, b: Finding, _classes: FailureClasses, _state: JobState) -> Why | None:
    """Return whether the code of ``b`` follows that of ``a``, as of two Xids of one device."""
    first, second = a.records[0], b.records[0]
    later = lives.are_on_one_device(first, second) and first.order < second.order
    return Why("next code") if later and follows(second, first) else None


def _fits_line_better(a: Finding, b: Finding, classes: FailureClasses, state: JobState) -> Why | None:
    """Return whether ``a`` is the better reading of one line: by role, mechanism, place or length of match.

    A wrapper stands in front of the reason that it wraps. Example: ``[store error]: ... [No space left on device]``.

    Cases: corpus/no-gpu-lightning, corpus/lightning-nodes-vs-slurm-tasks.
    """
    if _are_elsewhere(a, b):
        return None
    if a.rule.role != b.rule.role:
        return Why("same line") if ROLES.index(a.rule.role) < ROLES.index(b.rule.role) else None
    if bool(may_cause(a, b, classes, state)) != bool(may_cause(b, a, classes, state)):
        return None
    if _is_wrapped(a, b) or _is_wrapped(b, a):
        return Why("same line") if _is_wrapped(a, b) else None
    return Why("same line") if (a.match_length, b.rule.id) > (b.match_length, a.rule.id) else None


def _is_wrapped(a: Finding, b: Finding) -> bool:
    """Return whether the text of ``a`` begins behind that of ``b`` and behind a colon: ``b`` only wraps its reason.

    A further sentence is no reason but advice.
    """
    if not a.spans or not b.spans:
        return False
    (start, end), (before, until) = a.spans[0], b.spans[0]
    behind = before < start and (until <= start or end >= until)
    colon, _, between = a.records[0].text[before:start].rpartition(": ")
    return behind and bool(colon) and "\n" not in between and ". " not in between


def _are_elsewhere(a: Finding, b: Finding) -> bool:
    """Return whether the findings rest on two lines."""
    return a.records[0].order != b.records[0].order


# ── order of two failures that can bring about each other ───────────────────────────────────────────────────────────


def _came_first(a: Finding, b: Finding, classes: FailureClasses, state: JobState) -> bool:
    for is_certain in (_leads_to_giving_up, _stalled_the_job, _was_told_to_end, _has_better_witness, _is_no_catch_all):
        if is_certain(a, b, classes, state):
            return True
        if is_certain(b, a, classes, state):
            return False
    return lives.before(a, b, state)


def _leads_to_giving_up(a: Finding, b: Finding, classes: FailureClasses, state: JobState) -> bool:
    first, second = classes.of(a), classes.of(b)
    inside = second.id in FOLLOWING and state.processes.same(a, b) != "no"
    return inside and classes.inside(first, second) is not None


def _stalled_the_job(_: Finding, b: Finding, classes: FailureClasses, _state: JobState) -> bool:
    """Return whether ``b`` ended a job that stood still already, which `lives.is_within` has shown."""
    return classes.of(b).id == "ordered"


def _was_told_to_end(a: Finding, b: Finding, classes: FailureClasses, state: JobState) -> bool:
    """Return whether ``a`` is a signal that an agent got, and ``b`` what peers saw of it.

    It is not, if the signal surely came later.
    """
    if (classes.of(a).id, classes.of(b).id) != ("told to end", "peer lost"):
        return False
    is_signal = any(s.mark == "is ended" and s.of == "job" and s.by == "signal" for e in a.records for s in e.signs)
    return is_signal and not state.surely_after(a.records[0], b.records[0])


def _has_better_witness(a: Finding, b: Finding, classes: FailureClasses, state: JobState) -> bool:
    """Return whether a launcher's word of an end outranks what peers see.

    It does so only if the process surely did not choose its end, or said nothing while its peers lost it.
    Cases: corpus/killed-rank-torch-2.1.2, corpus/killed-store-host-pipeline.
    """
    first, second = classes.of(a), classes.of(b)
    if first.id == "end noticed" != second.id:
        return second.side == "seen" and _is_no_fallout(a, state)
    return second.id == "end noticed" != first.id and first.side == "seen" and not _is_no_fallout(b, state)


def _is_no_fallout(end: Finding, state: JobState) -> bool:
    return lives.was_struck(end) or state.named_ends.is_of_first(end.records)


def _is_no_catch_all(a: Finding, b: Finding, classes: FailureClasses, _state: JobState) -> bool:
    """Return whether ``b`` alone is a catch-all that sees one process end."""
    return b.rule.role == "fallback" != a.rule.role and classes.of(b).scope == "process"

"""Which finding is the cause: the one that no other finding explains.

A finding explains another if its rule says so (``explains``), or because of their roles: causes explain what others
see of them (symptoms), both explain the catch-alls (fallback).  Where two could explain each other, the earlier does.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence

from msgspec import Struct

from logdoctor.catalogues import follows
from logdoctor.model import Event, Finding
from logdoctor.reasoning.clocks import elapsed, moment
from logdoctor.reasoning.fallout import may_be_fallout
from logdoctor.reasoning.picture import Picture
from logdoctor.regexes import later

ROLES = ("cause", "symptom", "fallback", "benign")
STRENGTHS = ("proof", "strong", "likely", "hint")
TIERS = {"proof": 0, "strong": 0, "likely": 1, "hint": 2}
SEARCHED = 4000
STACK_LINES = 20
"""So many lines a run-time or a launcher may print below a failure that ended the program."""
BURST = 1.0
"""Seconds within which reports about one device are one event."""
_LATE_REPORTERS = ("kernel", "slurm", "elastic", "batch", "kubernetes", "ray")
"""Dialects that speak of the past: what they report happened before they print it."""
_PROMPT = ("slurm.cancelled", "slurm.terminating", "slurm.stopped", "elastic.signal_received")
"""Their lines that are printed when it happens."""
SEEN_FROM_OUTSIDE = frozenset(
    ("collective.timeout", "collective.heartbeat", "collective.rank-died", "net.peer-closed", "rdzv.store-lost")
)
"""What processes report that wait for another one, or lost it."""
WAITED, LEFT = "collective.timeout", "net.peer-closed"
"""What a rank says that gave up waiting, and what others see of it when it then leaves."""
TOLD_TO_END = "job.preempted"
TIME_UP = "job.time-limit"
_ORDERED = later(r"(?i)\bsignal\b|\bSIG[A-Z]{3,5}\b|preempt|time ?limit|wall ?time|interrupt|cancel|deadline|\bstop")
"""Exceptions that a program's own handler of such an order may raise."""
_FAULT = later(r"(?i)segmentation fault|segfault|SIGSEGV|bus error|SIGBUS|illegal instruction|SIGILL|SIGFPE")
"""A crash in native code; SIGABRT is how processes end themselves that gave up on others."""


NOISE = 5
"""So many exceptions of one type that were only reported, and that the job outlived, make the next one harmless."""


class Ranked(Struct, frozen=True):
    """Findings sorted: ``causes`` that nothing explains (best first), and for each other finding what explains it.

    ``preferred``: the first cause, where only its likeness to known logs puts it before its equals.
    """

    causes: tuple[Finding, ...]
    explained: tuple[tuple[Finding, Finding | None], ...]
    preferred: Finding | None = None


def survived(finding: Finding, picture: Picture, run: Callable[[Event], bool] | None = None) -> bool:
    """Whether the job (or only the ``run`` that holds these events) went on well after all that this rests on."""
    if finding.rule.outlived == "never":
        return False
    if finding.rule.outlived == "by a good end":
        return picture.good_ends.outlast(finding.latest, run)
    ranks: list[int | None] = [*finding.ranks] or [None]
    return all(picture.outlived(finding.latest, rank, run) for rank in ranks) or _is_old_noise(finding, picture, run)


def _is_old_noise(finding: Finding, picture: Picture, run: Callable[[Event], bool] | None) -> bool:
    """Whether it is what the program reports again and again and goes on: the job outlived most of what it rests on."""
    caught = finding.rule.role == "fallback" and all(e.level == "error" for e in (*finding.events, finding.latest))
    if not caught or finding.count <= NOISE:
        return False
    same = [e for e in finding.events if e.fields.get("exception") == finding.latest.fields.get("exception")]
    return sum(picture.outlived(e, picture.places.rank_of(e), run) for e in same) >= NOISE


def rank(findings: Sequence[Finding], picture: Picture, run: Callable[[Event], bool] | None = None) -> Ranked:
    """Split ``findings`` into causes and consequences; with ``run``, only what it holds says what was survived."""
    alive = [f for f in findings if not survived(f, picture, run)]
    roots = [f for f in alive if not any(explains(other, f, picture) for other in alive)] or alive
    causes = sorted(roots, key=_order_of_merit)
    rest = [f for f in findings if f not in causes]
    return Ranked(tuple(causes), tuple((f, _explainer(f, causes, alive, picture)) for f in rest))


def _order_of_merit(finding: Finding) -> tuple[int, int, int, bool, str]:
    rule = finding.rule
    return ROLES.index(rule.role), TIERS[rule.strength], finding.first, rule.id == rule.signature, rule.id


def _explainer(
    finding: Finding, causes: Sequence[Finding], alive: Sequence[Finding], picture: Picture
) -> Finding | None:
    if finding not in alive:
        return None
    direct = next((c for c in causes if explains(c, finding, picture)), None)
    return direct or next(
        (c for c in causes if any(explains(c, a, picture) and explains(a, finding, picture) for a in alive)), None
    )


def explains(a: Finding, b: Finding, picture: Picture) -> bool:
    """Whether ``a`` accounts for ``b``."""
    if a is b:
        return False
    if _read_the_same_line(a, b):
        return (a.width, b.rule.id) > (b.width, a.rule.id)
    known = _known_to_follow(a, b)
    if known is not None:
        return known
    if _ended_by_itself(b, a, picture) or _fell_with_it(b, a, picture) or _stood_until_time_was_up(b, a, picture):
        return False
    if _fell_with_it(a, b, picture) or _stood_until_time_was_up(a, b, picture):
        return True
    if _ended_by_itself(a, b, picture):
        return _could_explain(a, b)
    if _gave_up(b, a):
        return True
    if _gave_up(a, b) or not _could_explain(a, b) or _same_process_later(a, b):
        return _first_of_a_burst(a, b)
    return not _could_explain(b, a) or _same_process_later(b, a) or _before(a, b, picture)


def _known_to_follow(a: Finding, b: Finding) -> bool | None:
    """What the catalogues know of two codes of one device: ``b`` follows ``a`` (True), ``a`` follows ``b`` (False)."""
    first, second = a.events[0], b.events[0]
    if not _on_one_device(first, second):
        return None
    if first.order < second.order and follows(second, first):
        return True
    return False if second.order < first.order and follows(first, second) else None


def _first_of_a_burst(a: Finding, b: Finding) -> bool:
    """Of several reports about one device within a second, the first one counts where no rule says otherwise."""
    first, second = a.events[0], b.events[0]
    if first.kind != second.kind or not _on_one_device(first, second) or _could_explain(b, a):
        return False
    seconds = elapsed(first, second)
    return seconds is not None and first.order < second.order and seconds <= BURST


def _on_one_device(a: Event, b: Event) -> bool:
    bus = a.fields.get("bus_id")
    return bus is not None and bus == b.fields.get("bus_id") and (a.host or b.host) == (b.host or a.host)


def _read_the_same_line(a: Finding, b: Finding) -> bool:
    """Two rules claim one line and no rule file decides between them: the one that knows more of it is right."""
    same = a.events[0].order == b.events[0].order and a.rule.role == b.rule.role
    return same and a.rule.signature != b.rule.signature and _named(a, b) == _named(b, a)


def _named(a: Finding, b: Finding) -> bool:
    return any(fnmatch.fnmatchcase(n, g) for g in a.rule.explains for n in (b.rule.signature, b.rule.id))


def _could_explain(a: Finding, b: Finding) -> bool:
    if a.rule.signature == b.rule.signature:
        return True
    return _named(a, b) or ROLES.index(a.rule.role) < ROLES.index(b.rule.role)


def _is_late(finding: Finding) -> bool:
    event = finding.events[0]
    if event.kind == "crash.signal":
        return "signal_text" in event.fields  # a shell's words about its child
    return speaks_of_the_past(event)


def speaks_of_the_past(event: Event) -> bool:
    """Whether ``event`` is of a reporter that tells later what happened."""
    return event.dialect in _LATE_REPORTERS and event.kind not in _PROMPT


def _same_process_later(a: Finding, b: Finding) -> bool:
    """``a`` began only after all of ``b`` in the one process that both speak of."""
    if _is_late(a) or a.rule.signature == b.rule.signature:
        return False
    same = len(a.ranks) == 1 and a.ranks == b.ranks
    return same and a.first > b.last


def _ended_by_itself(end: Finding, seen: Finding, picture: Picture) -> bool:
    """Whether ``end`` is one rank's own exception or crash, not about others, and ``seen`` what only others report."""
    if not _is_of_one(end) or not _seen_from_outside(seen, end, picture):
        return False
    return _is_own_failure(end)


def _stood_until_time_was_up(end: Finding, seen: Finding, picture: Picture) -> bool:
    """Whether ``end`` is a rank's own failure after which the job only stood, until its time was up as ``seen`` says.

    What processes raise because they are told to end is no failure of their own, and comes after the order.  Where
    no rank is named it may be one program of several in a job script: unless it was the one that made progress, or
    nothing was printed below it.
    """
    if seen.rule.signature != TIME_UP or not _is_own_failure(end) or end.first > seen.first:
        return False
    failure, order = end.events[0], seen.events[0]
    if not end.ranks and not picture.stepped_until(failure) and not _stand_together(failure, order):
        return False
    return not _ORDERED.search(failure.text[:SEARCHED]) and not picture.surely_after(failure, order)


def _stand_together(above: Event, below: Event) -> bool:
    """Whether there is room for no more than a stack between the two."""
    same = above.line.file == below.line.file
    return same and 0 <= below.line.number - above.line.number - above.span <= STACK_LINES


def _is_own_failure(end: Finding) -> bool:
    """Whether it is a process' own exception, crash, or last word as simulation codes and run-times print it."""
    if end.rule.signature == "app.segfault":
        return _FAULT.search(end.events[0].text[:SEARCHED]) is not None
    return _is_own_last_word(end)


def _is_own_last_word(end: Finding) -> bool:
    """The same without crashes: what a process itself said when it ended, unless it speaks of others."""
    event = end.events[0]
    own = end.rule.role == "fallback" and "own end" in event.means and event.level == "fatal"
    return own and not may_be_fallout(event.text)


def _fell_with_it(end: Finding, crash: Finding, picture: Picture) -> bool:
    """Whether ``crash`` is only how a process broke down that ended, or was ended, as ``end`` says."""
    return _crashed_at_its_end(end, crash, picture) or _crashed_when_told_to_end(end, crash)


def _crashed_when_told_to_end(order: Finding, crash: Finding) -> bool:
    """Whether ``crash`` came over a process after another one had told MPI to end all of them."""
    if crash.rule.signature != "app.segfault" or order.rule.signature != "mpi.abort" or crash.first < order.first:
        return False
    told, fell = order.events[0], crash.events[0]
    if order.rule.role != "cause" and "end told" not in told.means:
        return False
    return told.line.file == fell.line.file and _of_two_processes(told, fell)


def _of_two_processes(a: Event, b: Event) -> bool:
    """Whether rank, process or host tell that they are not of one process."""
    if None not in (a.rank, b.rank):
        return a.rank != b.rank
    if None in (a.pid, b.pid):
        return False
    return a.pid != b.pid or (None not in (a.host, b.host) and a.host != b.host)


def _crashed_at_its_end(end: Finding, crash: Finding, picture: Picture) -> bool:
    """Whether ``crash`` is how a process broke down whose own exception had ended it: what ends it is printed first."""
    if crash.rule.signature != "app.segfault" or not _is_late(crash) or not _is_own_last_word(end):
        return False
    one = end.ranks == crash.ranks and (len(end.ranks) == 1 or len(picture.places.ranks) < 2)
    return one and end.events[0].line.file == crash.events[0].line.file and end.first < crash.first


def _seen_from_outside(seen: Finding, end: Finding, picture: Picture) -> bool:
    """Whether ``seen`` is what others report when one of them ended as ``end`` says.

    Or that the job was told to end, nobody says why, and not surely before that: launchers end what is left.
    """
    if seen.rule.signature in SEEN_FROM_OUTSIDE:
        return _is_elsewhere(seen, end)
    if seen.rule.signature == "rdzv.timeout":
        return _is_elsewhere(seen, end) and not picture.surely_after(end.events[0], seen.events[0])
    if seen.rule.signature != TOLD_TO_END or seen.rule.role != "fallback":
        return False
    return not any(picture.surely_after(e, seen.events[0]) for e in (end.events[0], _stamped(end)))


def _is_of_one(end: Finding) -> bool:
    """Whether it tells of one process: one rank, or one file where nobody knows the rank."""
    return len(end.ranks) == 1 or (not end.ranks and len(_files(end)) == 1)


def _is_elsewhere(seen: Finding, end: Finding) -> bool:
    """Whether other processes than that of ``end`` report ``seen``; an agent of torchrun is no rank."""
    if end.ranks:
        by_agent = seen.events[0].dialect == "elastic"
        return end.ranks[0] not in seen.ranks if seen.ranks else by_agent
    return not seen.ranks and _files(seen).isdisjoint(_files(end))


def _files(finding: Finding) -> set[str]:
    return {event.line.file for event in finding.events}


def _gave_up(end: Finding, seen: Finding) -> bool:
    """Whether ``end`` is but the SIGABRT of ranks that themselves told of the others that they waited for or lost."""
    if end.rule.signature != "app.segfault" or seen.rule.signature not in SEEN_FROM_OUTSIDE or not end.ranks:
        return False
    return set(end.ranks) <= set(seen.ranks) and not _FAULT.search(end.events[0].text[:SEARCHED]) and _is_late(end)


def _before(a: Finding, b: Finding, picture: Picture) -> bool:
    """``a`` comes first: stronger of two variants of one signature, late reporters first, then time, then place.

    In files without times, ranks that left because they had waited too long come before those that see them leave.
    """
    if a.rule.signature == b.rule.signature:
        return _order_of_merit(a) < _order_of_merit(b)
    if _is_late(a) != _is_late(b):
        return _is_late(a)
    first, second = _first_event(a), _first_event(b)
    if {a.rule.signature, b.rule.signature} == {WAITED, LEFT} and _stands_anywhere(a) and _stands_anywhere(b):
        return a.rule.signature == WAITED
    if first.line.file != second.line.file:
        seconds, _ = picture.seconds_between(_stamped(a), _stamped(b))
        if seconds is not None:
            return (0.0, a.first) < (seconds, b.first)
        if {a.rule.signature, b.rule.signature} == {WAITED, LEFT}:
            return a.rule.signature == WAITED
    return (a.first, a.rule.id) < (b.first, b.rule.id)


def _stands_anywhere(finding: Finding) -> bool:
    """Whether it rests on exceptions without a time alone: ranks that end together print those in any order."""
    return all(e.dialect == "python" and moment(e) is None for e in finding.events)


def _first_event(finding: Finding) -> Event:
    return min(finding.events, key=lambda e: e.order)


def _stamped(finding: Finding) -> Event:
    """Its first event with a time: an exception has none, but who reports the end of its process may have one."""
    ordered = sorted(finding.events, key=lambda e: e.order)
    return next((e for e in ordered if moment(e) is not None), ordered[0])

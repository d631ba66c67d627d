"""Decision what to do about the job.

The table of decisions says what to do about a cause. These corrections follow, in this order:

- the job still runs: investigate
- the scheduler has put the job back in its queue: nothing to do
- a host that several attempts name: start again without it
- an error that a restart does not change: fix it first, instead of another attempt
- the cause is not certain, and no fact of its own shows what to fix: investigate
- the same cause again without progress in between: investigate instead of another attempt
- no host is known: mend the device that is known, else find the host; most hosts show the fault: investigate
- two independent faults: the stricter decision

To investigate names the one look that would decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import (
    ONCE,
    WITH_CAUSE,
    Action,
    Cause,
    Decision,
    DecisionRow,
    Diagnosis,
    Do,
    Progress,
    Run,
    split_thing,
)
from logdoctor.model.catalogue import Catalogue
from logdoctor.reasoning.verdict.conditions import are_most, did_work, proof_lines, row_holds
from logdoctor.reasoning.verdict.decision_texts import (
    Choice,
    because_of,
    changes_of,
    goes_on,
    headline_of,
    look_of,
    older_names,
    sentence_of,
)
from logdoctor.reasoning.verdict.lasting_errors import find_lasting_error
from logdoctor.reasoning.verdict.restart import restart_steps

OWN_FAULT = frozenset({"app", "checkpoint", "job", "rdzv"})
"""Families of signatures that are never the fault of a machine."""
CERTAIN = 0.6
"""A cause with less confidence decides nothing."""
BY_ACTION: dict[Action, Do] = {
    "stop": "fix-first",
    "retry": "requeue",
    "exclude": "requeue-without-host",
    "none": "investigate",
}
"""Decisions about signatures that no table knows."""
STRICT: tuple[Do, ...] = (
    "fix-first",
    "investigate",
    "do-nothing",
    "resubmit-with-changes",
    "requeue-without-host",
    "requeue",
)
"""All decisions, the strictest first."""
AGAIN: tuple[Do, ...] = ("requeue", "requeue-without-host")
"""Decisions to start the same command again."""
SHOWING = ("exit_code", "errno", "status", "reason", "exception")
"""Values of a cause that is not certain which show what to fix all the same."""
OF_DEVICE = "gpu-or-driver"
Rows = Callable[[Cause], Sequence[DecisionRow]]
"""Function that returns the rows of the table for a cause."""


class Unread(Struct, frozen=True):
    """Number of inputs that were not read whole, of all inputs."""

    count: int = 0
    of: int = 0


EVERYTHING_READ = Unread()


def decide(
    diagnosis: Diagnosis,
    words: Catalogue,
    rows: Rows = lambda _: (),
    *,
    torch: Callable[[], str] = str,
    hung: bool = False,
    unread: Unread = EVERYTHING_READ,
) -> Decision:
    """Return the decision for the diagnosed job. ``torch`` returns its version of PyTorch, "" if unknown."""
    if diagnosis.verdict not in WITH_CAUSE:
        return _decide_without_cause(diagnosis, words, hung=hung, unread=unread)
    choice, cause = _choose(diagnosis, rows, hung=hung), diagnosis.causes[0]
    look = look_of(choice, cause, words)
    decision = Decision(
        do=choice.do,
        headline=headline_of(choice, diagnosis, words),
        sentence=sentence_of(choice, diagnosis, words),
        hosts=choice.hosts if choice.do == "requeue-without-host" else (),
        changes=changes_of(choice, torch),
        checkpoint=diagnosis.job.last_checkpoint if choice.do in AGAIN else None,
        attempts_left=1 if choice.do in AGAIN else 0,
        collect=(look,) if look else diagnosis.decision.collect,
        because=because_of(choice, cause, look, words),
        running=hung,
    )
    once = split_thing(choice.what)[0]
    older = older_names(decision.changes, torch, words)
    return replace(decision, steps=restart_steps(decision, diagnosis, words, once=once, older=older))


def _choose(diagnosis: Diagnosis, rows: Rows, *, hung: bool) -> Choice:
    cause = diagnosis.causes[0]
    row = _by_table(cause, diagnosis, rows)
    do = row.do
    earlier = _attempts(diagnosis.runs)[:-1]
    hosts = tuple(sorted(_hosts_named_again(cause, earlier, diagnosis.job.hosts)))
    if hung:
        return Choice("investigate", "hung")
    if goes_on(diagnosis):
        return Choice("do-nothing", "do-nothing" if do == "do-nothing" else "requeued")
    certain = cause.confidence >= CERTAIN
    if hosts and certain:
        count = 1 + sum(bool({*hosts} & {*run.culprit.hosts}) for run in earlier)
        return Choice("requeue-without-host", "host", hosts, count)
    said = find_lasting_error(proof_lines(diagnosis), worked=did_work(diagnosis.job))
    once = split_thing(row.what)[0] in ONCE
    if said and (once or do in (*AGAIN, "investigate")):
        return Choice("fix-first", "lasting", said=said)
    look = row.what if do == "investigate" else ""
    if not certain and not (do == "fix-first" and (said or _shows_what_to_fix(cause))):
        return Choice("investigate", "guess", what=look or "first-error")
    same = {cause.signature, *cause.explains}  # an earlier attempt may only show what follows from the cause
    again = [run for run in earlier if run.verdict in WITH_CAUSE and run.signature in same]
    if again and (do in AGAIN or look) and not (do == "requeue-without-host" and cause.culprit.hosts):
        choice = _choose_by_progress(again, _attempts(diagnosis.runs)[-1], look)
        if do in AGAIN or choice.do != "requeue" or cause.action == "retry":
            return choice
    if again and once:
        return Choice("investigate", "again", attempts=1 + len(again), what="dumps")
    if do == "requeue-without-host":
        return _choose_hosts(cause, diagnosis.job.hosts)
    faults = (row, *(_by_table(c, diagnosis, rows) for c in diagnosis.further_faults))
    strictest = min(faults, key=lambda fault: STRICT.index(fault.do))
    if strictest.do != do:
        return Choice(strictest.do, "second", what=strictest.what, shown_by=strictest.shown_by)
    return Choice(do, "once" if once else do, what=row.what, shown_by=row.shown_by)


def _shows_what_to_fix(cause: Cause) -> bool:
    """Return whether a cause that is not certain has a fact of its own: a frame, a code, a reason."""
    told = dict(cause.values)
    return bool(cause.owner.frame) or any(told.get(name) not in (None, "", 0, 9, 15, 137, 143) for name in SHOWING)


def _by_table(cause: Cause, diagnosis: Diagnosis, rows: Rows) -> DecisionRow:
    held = (row for row in rows(cause) if row_holds(row.when, cause, diagnosis))
    return next(held, DecisionRow("", BY_ACTION[cause.action]))


def _choose_hosts(cause: Cause, hosts: Sequence[str]) -> Choice:
    blamed = cause.culprit.hosts
    if not blamed and cause.owner.who == OF_DEVICE and cause.culprit.gpus:
        return Choice("fix-first", "device", what="gpu")
    if not blamed and not cause.culprit.ranks and cause.owner.who == "host":
        return Choice("fix-first", "requeue-without-host", what="host")
    if not blamed:
        return Choice("investigate", "no-host", what="host")
    if are_most(blamed, {*hosts, *blamed}):
        return Choice("investigate", "most-hosts", blamed, what="counters" if cause.owner.who == "fabric" else "")
    return Choice("requeue-without-host", "requeue-without-host", blamed)


def _attempts(runs: Sequence[Run]) -> Sequence[Run]:
    """Return the attempts of the job up to the reported run.

    Without a reported run, return the attempts of the last job.
    """
    end = next((number for number, run in enumerate(runs) if run.told), len(runs) - 1)
    start = end
    while start > 0 and runs[start].kind == "attempt":
        start -= 1
    return runs[start : end + 1]


def _hosts_named_again(cause: Cause, earlier: Sequence[Run], hosts: Sequence[str]) -> set[str]:
    """Return the culprit hosts that an earlier attempt named too.

    Return none if they are more than half of the job's hosts, because then no single host is at fault.
    """
    if cause.action == "stop" or cause.signature.partition(".")[0] in OWN_FAULT:
        return set()
    named = {*cause.culprit.hosts} & {host for run in earlier for host in run.culprit.hosts}
    return named if len(hosts) <= 1 or len(named) * 2 <= len(hosts) else set()


def _choose_by_progress(again: Sequence[Run], last: Run, look: str) -> Choice:
    """Choose by the progress since the earlier attempts.

    ``again`` are the earlier attempts that failed by the same cause. ``look``: what would decide without progress.
    """
    before, now = again[-1].last_progress, last.last_progress
    if is_further(before, now):
        return Choice("requeue", "further", (), 1 + len(again), before=before, now=now)
    points = [run.last_progress for run in (*again, last)]
    progress = [is_further(*pair) for pair in pairwise(points)]
    count = 2 + sum(1 for _ in takewhile(lambda further: not further, reversed(progress[:-1])))
    return Choice("investigate", "still", (), count, what=look)


def _decide_without_cause(diagnosis: Diagnosis, words: Catalogue, *, hung: bool, unread: Unread) -> Decision:
    verdict, collect, known = diagnosis.verdict, diagnosis.decision.collect, diagnosis.decision.because
    if verdict == "finished":
        return Decision("do-nothing", words("head.nothing"), words("decide.finished"))
    if verdict == "no-end-seen":
        key, because = "end", words("because.end")
    elif verdict == "nothing-to-judge":
        key, because = "nothing-to-judge", words(f"because.{_why_nothing(diagnosis, unread)}")
    else:
        key, because = "hung" if hung else "investigate", known or _why_unknown(diagnosis, words, hung, unread)
    decision = Decision(
        "investigate",
        words(f"head.{key}"),
        words(f"decide.{key}"),
        collect=collect,
        because=because,
        running=hung and verdict == "unknown",
    )
    return replace(decision, steps=restart_steps(decision, diagnosis, words))


def _why_nothing(diagnosis: Diagnosis, unread: Unread) -> str:
    if unread.count:
        return "unreadable"
    if not diagnosis.coverage.bytes:
        return "empty"
    return "noise" if diagnosis.coverage.records else "no-log"


def _why_unknown(diagnosis: Diagnosis, words: Catalogue, hung: bool, unread: Unread) -> str:  # noqa: FBT001
    attempts = _attempts(diagnosis.runs)
    if len(attempts) > 1 and attempts[-2].verdict == "unknown":
        before, now = (run.last_progress for run in attempts[-2:])
        if not is_further(before, now):
            return words("because.open.still", attempts=2)
    if not diagnosis.unexplained:
        return words("because.open.hung") if hung else words("because.unread", count=unread.count, of=unread.of)
    return words("because.open")


def is_further(before: Progress | None, now: Progress | None) -> bool:
    """Return whether ``now`` is beyond ``before``. If the units differ, any progress in ``now`` counts."""
    if before is None or now is None or before.unit != now.unit:
        return now is not None
    try:
        return _place(now) > _place(before)
    except ValueError:
        return False


def _place(progress: Progress) -> tuple[float, float]:
    """Return the epoch and the number of the step. ``120/500`` without an epoch gives (0.0, 120.0)."""
    return float(progress.epoch or 0), float(progress.value.partition("/")[0])

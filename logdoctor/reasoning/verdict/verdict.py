"""The verdict: a table of conditions over a few facts, in the order in which they count."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from logdoctor.model import Finding, Line, Record, Verdict
from logdoctor.reasoning.findings.reason_line import proof_of
from logdoctor.reasoning.findings.who import is_ordered
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.seen_end import find_good_end, is_alive

HANGS = frozenset({"job.time-limit-still"})
"""Rules of jobs that stood still before they were ended from outside."""


class Facts(Struct, frozen=True):
    """All that the verdict rests on."""

    root: Line | None = None
    """The decisive line of the cause that a rule names."""
    ended_from_outside: bool = False
    """True if the cause is an order from outside."""
    alarm: Line | None = None
    """A failure that nothing refutes and no cause explains."""
    hung: bool = False
    """True if the user says that the job hangs."""
    read_in_part: bool = False
    """True if a part of the evidence was not read, and another was."""
    waits: Line | None = None
    """The stack of a process that waits for others, of which nothing is known."""
    end: Line | None = None
    """The line that shows a good end."""
    alive: bool = False
    """True if a start or work is seen."""


_CONDITIONS: tuple[tuple[Verdict, Callable[[Facts], bool], Callable[[Facts], Line | None]], ...] = (
    ("stopped", lambda f: f.root is not None and f.ended_from_outside, lambda f: f.root),
    ("failed", lambda f: f.root is not None, lambda f: f.root),
    ("unknown", lambda f: f.alarm is not None or f.hung, lambda f: f.alarm),
    ("unknown", lambda f: f.read_in_part, lambda _: None),
    ("finished", lambda f: f.end is not None, lambda f: f.end),
    ("unknown", lambda f: f.waits is not None, lambda f: f.waits),
    ("no-end-seen", lambda f: f.alive, lambda _: None),
    ("nothing-to-judge", lambda _: True, lambda _: None),
)
"""Verdict, condition, and the line by which it is known."""


def verdict_of(facts: Facts) -> tuple[Verdict, Line | None]:
    """Return the first verdict whose condition holds, and the line by which it is known."""
    return next((verdict, known_by(facts)) for verdict, holds, known_by in _CONDITIONS if holds(facts))


def collect_facts(
    state: JobState,
    root: Finding | None,
    alarm: Line | None,
    *,
    waits: Line | None = None,
    hung: bool = False,
    read_in_part: bool = False,
    in_run: Callable[[Record], bool] = lambda _: True,
    survived: bool = False,
    has_heartbeat: Callable[[], bool] = lambda: False,
) -> Facts:
    """Return the facts of the job, or of the run of which ``in_run`` selects the records.

    ``survived``: the job went on after a failure, so it lived.
    """
    end = find_good_end(state, in_run, has_heartbeat)
    return Facts(
        root=proof_of(root).line if root else None,
        ended_from_outside=root is not None
        and is_ordered(root.rule.signature)
        and root.rule.id not in HANGS
        and not hung,
        alarm=alarm,
        waits=waits,
        hung=hung,
        read_in_part=read_in_part,
        end=end.line if end else None,
        alive=is_alive(state) or survived or (root is None and alarm is None and has_heartbeat()),
    )

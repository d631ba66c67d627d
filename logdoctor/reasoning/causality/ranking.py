"""Causes and consequences among the findings.

A finding that no other finding explains is a cause (see explaining.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from logdoctor.model import Finding, Record
from logdoctor.reasoning.causality.explaining import explains
from logdoctor.reasoning.causality.merit import sort_key
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.refutation import is_refuted


class Ranking(Struct, frozen=True):
    """Causes, best first, and the findings that they explain.

    ``explained`` has None for a finding that was outlived or that no listed cause explains. ``preferred`` is the first
    cause if only the classifier put it before its equals.
    """

    causes: tuple[Finding, ...]
    explained: tuple[tuple[Finding, Finding | None], ...]
    preferred: Finding | None = None


def rank_findings(findings: Sequence[Finding], state: JobState, run: Callable[[Record], bool] | None = None) -> Ranking:
    """Split ``findings`` into causes and consequences.

    With ``run``, only records that pass it show that a failure was survived.
    """
    alive = [f for f in findings if is_refuted(f, state.lives, run) is None]
    roots = [f for f in alive if not any(explains(other, f, state) for other in alive)] or alive
    causes = sorted(roots, key=sort_key)
    rest = [f for f in findings if f not in causes]
    return Ranking(tuple(causes), tuple((f, _explainer(f, causes, alive, state)) for f in rest))


def _explainer(
    finding: Finding, causes: Sequence[Finding], alive: Sequence[Finding], state: JobState
) -> Finding | None:
    if finding not in alive:
        return None
    direct = next((c for c in causes if explains(c, finding, state)), None)
    return direct or next(
        (c for c in causes if any(explains(c, a, state) and explains(a, finding, state) for a in alive)),
        None,
    )

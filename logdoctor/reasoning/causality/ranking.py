"""Which finding is the cause: the one that no other finding explains (explaining.py says why one explains another)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from logdoctor.model import Finding, Record
from logdoctor.reasoning.causality.explaining import explains
from logdoctor.reasoning.causality.merit import order_of_merit
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.outlived import finding_outlived


class Ranked(Struct, frozen=True):
    """Findings sorted: ``causes`` that nothing explains (best first), and for each other finding what explains it.

    ``preferred``: the first cause, where only its likeness to known logs puts it before its equals.
    """

    causes: tuple[Finding, ...]
    explained: tuple[tuple[Finding, Finding | None], ...]
    preferred: Finding | None = None


def rank(findings: Sequence[Finding], job_summary: JobState, run: Callable[[Record], bool] | None = None) -> Ranked:
    """Split ``findings`` into causes and consequences; with ``run``, only what it holds says what was survived."""
    alive = [f for f in findings if not finding_outlived(f, job_summary, run)]
    roots = [f for f in alive if not any(explains(other, f, job_summary) for other in alive)] or alive
    causes = sorted(roots, key=order_of_merit)
    rest = [f for f in findings if f not in causes]
    return Ranked(tuple(causes), tuple((f, _explainer(f, causes, alive, job_summary)) for f in rest))


def _explainer(
    finding: Finding, causes: Sequence[Finding], alive: Sequence[Finding], job_summary: JobState
) -> Finding | None:
    if finding not in alive:
        return None
    direct = next((c for c in causes if explains(c, finding, job_summary)), None)
    return direct or next(
        (c for c in causes if any(explains(c, a, job_summary) and explains(a, finding, job_summary) for a in alive)),
        None,
    )

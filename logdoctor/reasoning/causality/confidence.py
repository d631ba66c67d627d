"""How sure an answer is: the chance that it is right, from what speaks for it and what against.

A logistic curve over a handful of plain facts; no rule has a weight of its own.  The weights were fitted by
``tools/calibrate.py`` on rule examples, corpus and simulated jobs, whole and cut, with the rules as they are and
with the right ones taken away: so it is known how answers look that stand in for one that nobody knows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from logdoctor.model import Finding, Record
from logdoctor.reasoning.causality.merit import TIERS
from logdoctor.reasoning.causality.ranking import Ranked
from logdoctor.reasoning.lifecycle.outlived import shape

WEIGHTS = {
    "any answer": 4.6,
    "a symptom is the answer": -1.1,
    "a catch-all is the answer": -2.0,
    "proof": 1.0,
    "likely": -0.3,
    "hint": -1.6,
    "unexplained failures before it": -1.1,
    "unexplained failures, logarithm": -0.6,
    "equal rivals": -2.0,
}
ASSUMED = ("equal rivals",)
"""Too rare in labelled logs to be fitted; of two equal answers only the order of their lines prefers one."""
FOLLOWS = frozenset({"slurm.stopped", "frameworks.killed"})
"""A launcher ends what is left of a job: that only ever follows from something else."""
CERTAIN = 0.99
"""No log is proof against a world that it does not show."""


def facts(finding: Finding, ranked: Ranked, unexplained: Sequence[Record]) -> dict[str, float]:
    """What speaks for and against an answer, by the names in `WEIGHTS`; ``unexplained``: failures no rule knows.

    A complaint counts once, however often it was printed, and not where a finding accounts for one of its lines.
    """
    rule = finding.rule
    known = {shape(e) for f in (*ranked.causes, *(f for f, _ in ranked.explained)) for e in f.records}
    others = [e for e in unexplained if e.kind not in FOLLOWS and shape(e) not in known]
    before = any(e.order < finding.first for e in others)
    return {
        "any answer": 1,
        "a symptom is the answer": rule.role == "symptom",
        "a catch-all is the answer": rule.role == "fallback",
        "proof": rule.strength == "proof",
        "likely": rule.strength == "likely",
        "hint": rule.strength == "hint",
        "unexplained failures before it": before,
        "unexplained failures, logarithm": math.log1p(len({shape(e) for e in others})),
        "equal rivals": min(2, len(rivals(finding, ranked.causes))),
    }


def chance(spoken: dict[str, float]) -> float:
    """The chance that an answer of which these `facts` hold is right."""
    return min(CERTAIN, 1 / (1 + math.exp(-math.fsum(WEIGHTS[name] * value for name, value in spoken.items()))))


def rivals(finding: Finding, causes: Collection[Finding]) -> list[Finding]:
    """The other causes that stand as well as ``finding`` does: nothing but their order decides between them."""
    return [c for c in causes if c is not finding and _standing(c) == _standing(finding)]


def _standing(finding: Finding) -> tuple[str, int]:
    return finding.rule.role, TIERS[finding.rule.strength]

"""Confidence of an answer: the chance that it is right.

The chance is a logistic curve over a few facts, and no rule has a weight of its own. ``tools/calibrate.py`` fits the
weights on rule examples, the corpus and simulated jobs, whole and cut. Each job is diagnosed with all rules and without
the right ones, so that the weights also cover answers that stand in for an unknown failure.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence

from logdoctor.model import Finding, Record
from logdoctor.reasoning.causality.roots import Ranking
from logdoctor.reasoning.lifecycle.refutation import shape

WEIGHTS = {
    "any answer": 4.5,
    "a symptom is the answer": -0.6,
    "a catch-all is the answer": -1.8,
    "a process tells its end": -1.4,
    "its own code raised a built-in exception": 0.7,
    "others see it": -0.5,
    "a library reports it": -1.5,
    "proof": 0.8,
    "likely": -0.85,
    "hint": -1.6,
    "unexplained failures before it": -1.6,
    "unexplained failures, logarithm": -0.8,
}
ASSUMED = ("hint",)
"""Weights that were not fitted.  A hint names one reason of several, which the labels of a corpus do not show."""
BUILT_IN = frozenset(name for name, it in vars(builtins).items() if isinstance(it, type) and issubclass(it, Exception))
"""Built-in exceptions."""
OF_LIBRARIES = frozenset({"RuntimeError", "SystemError", "Exception"})
"""Built-in exceptions under which libraries report their own failures."""
FOLLOWS = frozenset({"slurm.stopped", "frameworks.killed"})
"""Kinds that are always consequences, because a launcher ends the remaining processes of a job."""
CERTAIN = 0.99
"""Highest chance, because a log never shows everything."""


def collect_facts(finding: Finding, ranking: Ranking, unexplained: Sequence[Record]) -> dict[str, float]:
    """Return the facts for and against an answer.

    The keys are the names in `WEIGHTS`. ``unexplained`` are failures without a rule. Repeated prints of one complaint
    count once, and not at all if a finding explains one of them.
    """
    rule = finding.rule
    found = [e for f in (*ranking.causes, *(e.finding for e in ranking.explained)) for e in f.records]
    explained, lines = {shape(e) for e in found}, {e.line for e in found}
    first = finding.records[0]
    own_end = rule.role == "fallback" and first.reports_own_end
    others = [e for e in unexplained if not (e.kind in FOLLOWS or shape(e) in explained or e.line in lines)]
    if (own_end and rule.side == "own") or rule.failure_class == "end noticed" or "end" in first.fields:
        # the end is proved, so what launchers then tell of ends follows from it
        others = [e for e in others if not _tells_end_of_other(e)]
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
        "others see it": rule.side == "seen",
        "a library reports it": rule.failure_class == "library reports",
        "a process tells its end": own_end,
        "its own code raised a built-in exception": own_end and _raised_by_own_code(finding),
    }


def _tells_end_of_other(record: Record) -> bool:
    """Return whether the record tells of the end of another process, as launchers do."""
    return record.tells("about peers") or any(sign.reporter in ("launcher", "batch") for sign in record.signs)


def _raised_by_own_code(finding: Finding) -> bool:
    """Return whether the user's own frame raised a built-in exception, and no library below it."""
    fields = finding.records[0].fields
    exception = str(fields.get("exception", ""))
    innermost = "own_frame" in fields and not fields.get("package") and not fields.get("library")
    return innermost and exception in BUILT_IN - OF_LIBRARIES


def chance(facts: dict[str, float]) -> float:
    """Return the chance that an answer is right."""
    return min(CERTAIN, 1 / (1 + math.exp(-math.fsum(WEIGHTS[name] * value for name, value in facts.items()))))

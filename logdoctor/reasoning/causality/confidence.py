"""Confidence of an answer: the chance that it is right.

The chance is a logistic curve over a few doubts, and no rule has a weight of its own. ``tools/calibrate.py`` fits the
weights on two sorts of answers. Strict readers marked the answers in ``tools/marks.tsv``, so a doubt also covers steps
that do not mend the failure. Labelled cases are diagnosed with all rules and without those of the right signature, so
the weights also cover answers that stand in for an unknown failure.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence

from msgspec import Struct

from logdoctor.model import Finding, Record, Strength, Who
from logdoctor.reasoning.causality.claims import Checked
from logdoctor.reasoning.causality.roots import Ranking
from logdoctor.reasoning.lifecycle.refutation import shape

WITHOUT_DOUBT = 6.1
"""Log-odds of an answer without a doubt."""
WEIGHTS = {
    "stands in for the cause": 1.1,
    "no proof": 0.9,
    "unexplained failures": 0.5,
    "seldom mended by its log": 0.9,
    "may be an effect": 0.4,
    "the first step is a search": 0.4,
    "nothing of the job is told": 1.0,
}
"""Weights of the doubts. None is negative: no doubt makes an answer more certain."""
CERTAIN = 0.99
"""Highest chance, because a log never shows everything."""
UNFOUNDED = 0.85
"""Highest chance of an answer that tells nothing of the job, or that only victims of another failure may show."""
NO_PROOF: dict[Strength, float] = {"proof": 0, "strong": 1, "likely": 1.5, "hint": 2}
"""Doubt by the strength of a rule."""
MENDED_BY_LOG: tuple[Who, ...] = ("your settings", "your data", "storage", "gpu-or-driver", "a-person")
"""Owners whose fix a log mostly shows. Code, frameworks, networks and hosts have to be looked at."""
EFFECTS = frozenset({"process crashes", "kernel faults", "process ends"})
"""Failure classes inside the process that many other failures bring about."""
SEARCHES = frozenset(
    "Ask Check Collect Compare Find Get Look Print Read Repeat Reproduce Run Search See Take Test Trace Watch".split()
)
"""First words of steps that look for the fix and do not make it."""
BUILT_IN = frozenset(name for name, it in vars(builtins).items() if isinstance(it, type) and issubclass(it, Exception))
"""Built-in exceptions."""
OF_LIBRARIES = frozenset({"RuntimeError", "SystemError", "Exception"})
"""Built-in exceptions under which libraries report their own failures."""
FOLLOWS = frozenset({"slurm.stopped", "frameworks.killed"})
"""Kinds that are always consequences, because a launcher ends the remaining processes of a job."""
LONG_ENOUGH = 12
"""Letters of a value by which a line is known again."""


class Told(Struct, frozen=True):
    """Parts of an answer that bear on its confidence."""

    owner: Who
    first_step: str
    """The first step in English."""
    of_job: bool
    """True if the answer tells a value, a rank or a host of the job."""


def collect_doubts(finding: Finding, ranking: Ranking, unexplained: Sequence[Record], told: Told) -> dict[str, float]:
    """Return how much each doubt of `WEIGHTS` is true of an answer, 0 if not at all.

    ``unexplained`` are failures without a rule.
    """
    rule, checks = finding.rule, ranking.checked.get(finding.rule.id, ())
    return {
        "stands in for the cause": _standing_in(finding),
        "no proof": NO_PROOF[rule.strength],
        "unexplained failures": _unexplained(finding, ranking, unexplained),
        "seldom mended by its log": told.owner not in MENDED_BY_LOG,
        "may be an effect": _may_be_effect(finding, checks),
        "the first step is a search": told.first_step.partition(" ")[0] in SEARCHES,
        "nothing of the job is told": not told.of_job,
    }


def chance(doubts: dict[str, float]) -> float:
    """Return the chance that an answer is right."""
    odds = WITHOUT_DOUBT - math.fsum(WEIGHTS[name] * value for name, value in doubts.items())
    of_victim = doubts["may be an effect"] and doubts["stands in for the cause"]
    unfounded = doubts["nothing of the job is told"] or of_victim
    highest = UNFOUNDED if unfounded else CERTAIN
    return min(highest, 1 / (1 + math.exp(-odds)))


def _standing_in(finding: Finding) -> float:
    """Return how much the answer stands for a failure of which the rules know only the outcome."""
    rule = finding.rule
    has_reason = _raised_by_own_code(finding) or finding.values.get("expression")  # of a failed assertion
    bare_end = _tells_own_end(finding) and not has_reason
    role = {"symptom": 1.0, "fallback": 2.0}.get(rule.role, 0.0)
    return role + 2.5 * bare_end + 1.5 * (rule.failure_class == "library reports")


def _may_be_effect(finding: Finding, checks: Sequence[Checked]) -> bool:
    """Return whether another failure may have brought this one about, and no line shows that it came first."""
    shown = any(check.claim.name == "first" and check.holds == "confirmed" for check in checks)
    return (finding.rule.side == "seen" or finding.rule.failure_class in EFFECTS) and not shown


def _unexplained(finding: Finding, ranking: Ranking, unexplained: Sequence[Record]) -> float:
    """Return the logarithm of the number of failures without a rule, and 4 more if one stands above the answer.

    Repeated prints of one complaint count once, and not at all if a finding explains one of them, or the answer tells
    it.
    """
    found = [e for f in (*ranking.causes, *(e.finding for e in ranking.explained)) for e in f.records]
    explained, lines = {shape(e) for e in found}, {e.line for e in found}
    told = [text for text in finding.values.values() if isinstance(text, str) and len(text) >= LONG_ENOUGH]
    others = [
        e
        for e in unexplained
        if not (e.kind in FOLLOWS or shape(e) in explained or e.line in lines or any(text in e.text for text in told))
    ]
    if (
        (_tells_own_end(finding) and finding.rule.side == "own")
        or finding.rule.failure_class == "end noticed"
        or "end" in finding.records[0].fields
    ):  # the end is proved, so what launchers then tell of ends follows from it
        others = [e for e in others if not _tells_end_of_other(e)]
    before = any(e.order < finding.first and not any(sign.late for sign in e.signs) for e in others)
    return math.log1p(len({shape(e) for e in others})) + 4 * before


def _tells_own_end(finding: Finding) -> bool:
    """Return whether a catch-all took the line in which a process tells its own end."""
    return finding.rule.role == "fallback" and finding.records[0].reports_own_end


def _tells_end_of_other(record: Record) -> bool:
    """Return whether the record tells of the end of another process, as launchers do."""
    return record.tells("about peers") or any(sign.reporter in ("launcher", "batch") for sign in record.signs)


def _raised_by_own_code(finding: Finding) -> bool:
    """Return whether the user's own frame raised a built-in exception, and no library below it."""
    fields = finding.records[0].fields
    exception = str(fields.get("exception", ""))
    innermost = "own_frame" in fields and not fields.get("package") and not fields.get("library")
    return innermost and exception in BUILT_IN - OF_LIBRARIES

"""Checks of the conditions and kinds of rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from logdoctor.authoring.lint_issue import LintIssue, RuleSource
from logdoctor.logs import kinds
from logdoctor.model import Rule, Symptom
from logdoctor.model.kinds import fits
from logdoctor.ruleset.reader import NAME_LISTS

DERIVED = ("ledger.", "examined.")
"""Prefixes of the kinds of records that the reasoning and the examination derive from others."""


def check_conditions(source: RuleSource) -> Iterator[LintIssue]:
    """Find conditions that never hold, and symptoms that are impossible or unused."""
    known = kinds()
    used = _symptoms_in_conditions(source.rule)
    for symptom in source.rule.symptoms:
        part = ("symptoms", symptom.name)
        if not _possible(symptom, known):
            what = f"no line is of the kind '{symptom.kind or symptom.format}'"
            cure = "logdoctor events FILE shows the kinds of a log's lines"
            yield source.issue("unreachable", (*part, "kind"), what, "", cure)
        if symptom.name not in used:
            what = f"'when' does not name the symptom '{symptom.name}'"
            yield source.issue("unreachable", part, what, "it counts for nothing", "name it in 'when' or take it out")
    for what in _contradictions(source.rule.when):
        yield source.issue("unreachable", ("when",), f"'when' cannot hold: {what}")


def _possible(symptom: Symptom, known: set[str]) -> bool:
    if (symptom.kind or "").startswith(DERIVED):
        return True
    fitting = [k for k in known if fits(k, symptom.kind or "*")]
    return any(fits(k.partition(".")[0], symptom.format or "*") for k in fitting)


def _symptoms_in_conditions(rule: Rule) -> set[str]:
    from_lists = [n for key in NAME_LISTS for n in as_list(rule.when.get(key))]
    return {*from_lists, *(n for key in ("count", "differ") for n in rule.when.get(key, ()))}


def as_list(value: Any) -> Sequence[str]:
    """Return one name or a list of names as a list. None becomes an empty list."""
    return [value] if isinstance(value, str) else value or []


def _contradictions(when: Any) -> Iterator[str]:
    refused = {*as_list(when.get("none"))}
    needed = {*as_list(when.get("all")), *as_list(when.get("sequence"))}
    any_of = {*as_list(when.get("any"))}
    yield from (f"'{name}' is both needed and refused" for name in sorted(needed & refused))
    if any_of and any_of <= refused:
        yield "all that 'any' names is refused by 'none'"
    both = {*as_list(when.get("apart"))} & {*as_list(when.get("together"))}
    if len(both) > 1:
        yield f"{' and '.join(sorted(both))} cannot be apart and together"
    for name, count in when.get("count", {}).items():
        if name in needed and str(count).replace(" ", "") in ("0", "==0", "<1", "<=0"):
            yield f"'{name}' is needed and must not be seen"
    for name, quantity in when.get("ranks", {}).items():
        if name in needed and quantity in ("none", 0):
            yield f"'{name}' is needed and no rank may show it"
    facts = when.get("job", {})
    if facts.get("hung") and facts.get("finished"):
        yield "a job that hangs has not finished"

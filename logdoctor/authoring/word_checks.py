"""Checks of the texts for users: unfilled names and TODOs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from logdoctor.authoring.condition_checks import DERIVED
from logdoctor.authoring.lint_issue import LintIssue, RuleSource
from logdoctor.authoring.tracing import Trace
from logdoctor.logs import record_patterns
from logdoctor.model import FACT_TYPES, Rule
from logdoctor.model.kinds import fits
from logdoctor.pack.yaml_lines import Path
from logdoctor.reasoning.findings.values import OF_CULPRIT, OF_EXAMINED, OF_STATES

TODO = "TODO"
ALWAYS = set("job ranks nranks last_progress awaited last_awaited claim denies peer_host peer_name".split()) | {
    *OF_CULPRIT,
    *OF_EXAMINED,
    *OF_STATES,
}
VERSION = "_version"
NAME = re.compile(r"\{(\w+)(\.\w+)?[|?}]")
GROUP = re.compile(r"\(\?P?<(\w+)>")
NOT_FIELDS = ("nobody", "peer", "bus_id")
"""Values of ``culprit`` that name no field. The last two are defaults, which may be fields but need not be."""


def check_words(source: RuleSource, examples: Sequence[Trace]) -> Iterator[LintIssue]:
    """Find each ``{name}`` that neither patterns nor examples fill, and each such field."""
    rule = source.rule
    fields = _known_fields(rule, examples)
    reported = set[str]()
    for part, text in _texts(source.document.data):
        if part[0] in ("title", "cause", "remedy", "text"):
            found = (name for name, column in NAME.findall(text) if not (column and name in FACT_TYPES))
            names = {n for n in found if n not in fields | reported and not n.endswith(VERSION)}
            reported |= names
            yield from (_unknown(source, part, f"{{{name}}}") for name in sorted(names))
    if any((s.kind or "").startswith(DERIVED) for s in rule.symptoms):
        return  # the fields of derived records depend on the job
    for part, name in _fields_named(rule):
        if name not in fields:
            yield _unknown(source, part, f"the field '{name}'")


def _fields_named(rule: Rule) -> Iterator[tuple[Path, str]]:
    yield from ((("culprit", key), name) for key, name in rule.culprit.items() if name not in NOT_FIELDS)
    yield from ((("when", "differ", symptom), name) for symptom, name in rule.when.get("differ", {}).items())


def _unknown(source: RuleSource, part: Path, name: str) -> LintIssue:
    groups = ", ".join(sorted(_groups(source.rule) | ALWAYS))
    why = f"no symptom captures it and no example's line has such a field; known here are {groups} and more"
    cure = "name a group (?P<name>...) so, or say less"
    return source.issue("unknown-word", part, f"nothing fills {name}", why, cure)


def _known_fields(rule: Rule, examples: Sequence[Trace]) -> set[str]:
    bound = {name for t in examples for f in t.findings if f.rule.id == rule.id for name in f.values}
    matched = {n for t in examples for es in t.matches.get(rule.id, {}).values() for e in es for n in e.fields}
    return ALWAYS | _groups(rule) | _fields(rule) | bound | matched


def _groups(rule: Rule) -> set[str]:
    return {name for s in rule.symptoms if s.text for name in GROUP.findall(s.text)}


def _fields(rule: Rule) -> set[str]:
    """Return the named groups of the patterns whose kinds the symptoms match."""
    wanted = [s.kind for s in rule.symptoms if s.kind]
    fitting = (r for r in record_patterns() if any(fits(r.kind, kind) for kind in wanted))
    return {name for r in fitting for name in GROUP.findall(r.pattern)}


def check_todo(source: RuleSource) -> Iterator[LintIssue]:
    """Find the TODOs that ``rules new`` wrote."""
    for part, text in _texts(source.document.data):
        if TODO in text:
            first = next(line for line in text.splitlines() if TODO in line).strip()
            yield source.issue("todo", part, f"still to be written: {first[:80]}")


def _texts(data: Any, part: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield every text of a rule file after its place.

    The first step of the remedy gives ``(("remedy", 0), "Start it again")``.
    """
    if isinstance(data, str):
        yield part, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _texts(value, (*part, key))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from _texts(value, (*part, number))

"""Checks of the words a person reads: names that nothing fills, and what the author still has to write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from logdoctor.authoring.condition_checks import DERIVED
from logdoctor.authoring.remark import Remark, Written
from logdoctor.authoring.tracing import Trace
from logdoctor.kinds import fits
from logdoctor.model import Rule
from logdoctor.parsers import records
from logdoctor.rulebook.yaml_lines import Path

TODO = "TODO"
ALWAYS = {"rank", "ranks", "host", "pid", "nranks", "last_progress", "awaited", "peer_host"}
VERSION = "_version"
NAME = re.compile(r"\{(\w+)(?:\.\w+)?[|?}]")
GROUP = re.compile(r"\(\?P?<(\w+)>")
NOT_FIELDS = ("speaker", "alone", "only", "nobody", "peer", "bus_id")
"""What ``culprit`` may say of any line: the last two are its defaults, and name nobody where no field is called so."""


def check_words(written: Written, examples: Sequence[Trace]) -> Iterator[Remark]:
    """Remarks on ``{name}`` and fields that no line of the rule's kinds and no example fills."""
    rule = written.rule
    known = _known(rule, examples)
    told = set[str]()
    for part, text in _texts(written.document.data):
        if part[0] in ("title", "cause", "remedy", "text"):
            names = {n for n in NAME.findall(text) if n not in known | told and not n.endswith(VERSION)}
            told |= names
            yield from (_unknown(written, part, f"{{{name}}}") for name in sorted(names))
    if any((s.kind or "").startswith(DERIVED) for s in rule.symptoms):
        return  # which fields reasoning finds out depends on the job
    for part, name in _fields_named(rule):
        if name not in known:
            yield _unknown(written, part, f"the field '{name}'")


def _fields_named(rule: Rule) -> Iterator[tuple[Path, str]]:
    yield from ((("culprit", key), name) for key, name in rule.culprit.items() if name not in NOT_FIELDS)
    for key in ("agree", "differ"):
        yield from ((("when", key, symptom), name) for symptom, name in rule.when.get(key, {}).items())


def _unknown(written: Written, part: Path, name: str) -> Remark:
    groups = ", ".join(sorted(_groups(written.rule) | ALWAYS))
    why = f"no symptom captures it and no example's line has such a field; known here are {groups} and more"
    cure = "name a group (?P<name>...) so, or say less"
    return written.remark("unknown-word", part, f"nothing fills {name}", why, cure)


def _known(rule: Rule, examples: Sequence[Trace]) -> set[str]:
    bound = {name for t in examples for f in t.findings if f.rule.id == rule.id for name in f.bindings}
    shown = {n for t in examples for es in t.shown.get(rule.id, {}).values() for e in es for n in e.fields}
    return ALWAYS | _groups(rule) | _fields(rule) | bound | shown


def _groups(rule: Rule) -> set[str]:
    return {name for s in rule.symptoms if s.text for name in GROUP.findall(s.text)}


def _fields(rule: Rule) -> set[str]:
    """The named groups of the records of the kinds that the symptoms ask for."""
    wanted = [s.kind for s in rule.symptoms if s.kind]
    fitting = (r for r in records() if any(fits(r.kind, kind) for kind in wanted))
    return {name for r in fitting for name in GROUP.findall(r.pattern)}


def check_todo(written: Written) -> Iterator[Remark]:
    """What the skeleton of a new rule left open."""
    for part, text in _texts(written.document.data):
        if TODO in text:
            first = next(line for line in text.splitlines() if TODO in line).strip()
            yield written.remark("todo", part, f"still to be written: {first[:80]}")


def _texts(data: Any, part: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every text of a file, and where it stands."""
    if isinstance(data, str):
        yield part, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _texts(value, (*part, key))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from _texts(value, (*part, number))

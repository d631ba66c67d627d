"""Checks of ``when``, of kinds and of ``explains``: what can never hold, and who explains whom in a circle."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from typing import Any

from logdoctor.authoring.remark import Remark, Written
from logdoctor.kinds import fits
from logdoctor.model import Rule, Symptom
from logdoctor.parsers import records
from logdoctor.rulebook.reader import NAME_LISTS, ROLES

OTHER_KINDS = ("text.line",)
DERIVED = "ledger."
"""Kinds of events that reasoning derives from others."""


def check_conditions(written: Written) -> Iterator[Remark]:
    """Remarks on a condition that can never hold, and on symptoms that nothing can show or nothing asks for."""
    kinds = {r.kind for r in records()} | {*OTHER_KINDS}
    asked = _asked_for(written.rule)
    for symptom in written.rule.symptoms:
        part = ("symptoms", symptom.name)
        if not _possible(symptom, kinds):
            what = f"no line is of the kind '{symptom.kind or symptom.dialect}'"
            cure = "logdoctor events FILE shows the kinds of a log's lines"
            yield written.remark("unreachable", (*part, "kind"), what, "", cure)
        if symptom.name not in asked:
            what = f"'when' does not name the symptom '{symptom.name}'"
            yield written.remark("unreachable", part, what, "it counts for nothing", "name it in 'when' or take it out")
    for what in _contradictions(written.rule.when):
        yield written.remark("unreachable", ("when",), f"'when' cannot hold: {what}")


def _possible(symptom: Symptom, kinds: set[str]) -> bool:
    if (symptom.kind or "").startswith(DERIVED):
        return True
    fitting = [k for k in kinds if fits(k, symptom.kind or "*")]
    return any(fits(k.partition(".")[0], symptom.dialect or "*") for k in fitting)


def _asked_for(rule: Rule) -> set[str]:
    """The symptoms that any condition names."""
    named = [n for key in NAME_LISTS for n in _listed(rule.when.get(key))]
    return {*named, *(n for key in ("count", "ranks", "agree", "differ") for n in rule.when.get(key, ()))}


def _listed(value: Any) -> Sequence[str]:
    return [value] if isinstance(value, str) else value or []


def _contradictions(when: Any) -> Iterator[str]:
    refused = {*_listed(when.get("none"))}
    needed = {*_listed(when.get("all")), *_listed(when.get("sequence"))}
    any_of = {*_listed(when.get("any"))}
    yield from (f"'{name}' is both needed and refused" for name in sorted(needed & refused))
    if any_of and any_of <= refused:
        yield "all that 'any' names is refused by 'none'"
    both = {*_listed(when.get("apart"))} & {*_listed(when.get("together"))}
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


def check_circles(rules: Sequence[Written]) -> Iterator[Remark]:
    """Three rules of which each names the next in ``explains`` (globs do not count), and never the other way round."""
    following = {w.rule.id: {o.rule.id for o in rules if _always(w.rule, o.rule)} for w in rules}
    for written in rules:
        first = written.rule.id
        for second in sorted(following[first]):
            for third in sorted(following[second]):
                if first in following[third] and first < min(second, third):
                    what = f"in a circle: {first} explains {second} explains {third} explains {first}"
                    why = "where all of them hold, each is taken for a consequence"
                    cure = "take one out of 'explains', or let two of them explain each other"
                    yield written.remark("cycle", ("explains",), what, why, cure)


def _always(a: Rule, b: Rule) -> bool:
    """Whether ``a`` explains ``b`` and never the other way round (then the order in the log decides)."""
    named = a.signature != b.signature and not {b.id, b.signature}.isdisjoint(a.explains)
    return named and not names(b, a) and ROLES.index(a.role) <= ROLES.index(b.role)


def names(a: Rule, b: Rule) -> bool:
    """Whether ``a`` names ``b`` in ``explains``."""
    return any(fnmatch.fnmatchcase(n, pattern) for pattern in a.explains for n in (b.signature, b.id))

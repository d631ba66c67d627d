"""Checks that run a rule's examples with all rules loaded: what is shown, what holds, and who wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from logdoctor.authoring.condition_checks import names
from logdoctor.authoring.remark import Remark, Written
from logdoctor.authoring.tracing import Trace
from logdoctor.model import Finding


class Tried(Struct, frozen=True):
    """A rule and what became of its examples and near-misses, in their order."""

    written: Written
    examples: Sequence[Trace]
    near_misses: Sequence[Trace]


def check_examples(tried: Tried) -> Iterator[Remark]:
    """Remarks on what a rule's own examples show of it."""
    if not any(_held(tried.written.rule.id, t) for t in tried.examples):
        yield _never_holds(tried)
        return
    yield from _never_hit(tried)
    yield from _shadowed(tried)
    yield from _overlapping(tried)


def _held(rule_id: str, trace: Trace) -> Finding | None:
    return next((f for f in (*trace.findings, *trace.harmless) if f.rule.id == rule_id), None)


def _never_holds(tried: Tried) -> Remark:
    rule = tried.written.rule
    seen = {name for t in tried.examples for name in t.shown.get(rule.id, ())}
    why = f"of its symptoms the examples show {', '.join(sorted(seen)) or 'none'}"
    takers = {f.rule.id for t in tried.examples for f in t.findings}
    if seen and rule.role == "fallback" and takers:
        why += f"; a fallback sees only what no other rule took, and here took: {', '.join(sorted(takers))}"
    cure = "logdoctor events FILE shows what the parsers make of the example; the text must be found in 'text' there"
    return tried.written.remark("unreachable", ("when",), "the rule holds in none of its own examples", why, cure)


def _never_hit(tried: Tried) -> Iterator[Remark]:
    rule = tried.written.rule
    refusing = {rule.when["none"]} if isinstance(rule.when.get("none"), str) else {*rule.when.get("none", ())}
    for symptom in rule.symptoms:
        pool = [*tried.examples, *(tried.near_misses if symptom.name in refusing else ())]
        if not any(symptom.name in t.shown.get(rule.id, ()) for t in pool):
            what = f"no example shows the symptom '{symptom.name}'"
            cure = "add an example with such a line, or take the symptom out"
            why = "nothing proves that it works"
            yield tried.written.remark("never-hit", ("symptoms", symptom.name), what, why, cure)


def _shadowed(tried: Tried) -> Iterator[Remark]:
    """Symptoms that are shown, but never where the rule is the answer."""
    rule = tried.written.rule
    if rule.role == "benign":
        return
    lost = {s.name: _winners(rule.id, s.name, tried.examples) for s in rule.symptoms if s.name in _deciding(tried)}
    whole = lost and all(lost.values())
    for name, winners in lost.items():
        if winners:
            other = winners.most_common(1)[0][0]
            what = f"where the symptom '{name}' is shown, '{other}' is the answer every time"
            if whole:
                what = f"where this rule holds, '{other}' is the answer every time"
            part = ("symptoms", name)
            yield tried.written.remark("shadowed", part, what, f"in {sum(winners.values())} examples", _WINNING)
            if whole:
                return


_WINNING = (
    "a rule wins that names the other in 'explains', has the stronger role (cause, symptom, fallback), "
    "or matches more of the same line"
)


def _deciding(tried: Tried) -> Collection[str]:
    """The symptoms of which one suffices: others may be shown beside an answer of another rule."""
    any_of = tried.written.rule.when.get("any", ())
    return {any_of} if isinstance(any_of, str) else {*any_of}


def _winners(rule_id: str, symptom: str, examples: Sequence[Trace]) -> Counter[str]:
    """Who is the answer in the examples that show the symptom; nobody if the rule itself is in one of them."""
    showing = [t for t in examples if symptom in t.shown.get(rule_id, ())]
    answers = Counter(t.diagnosis.causes[0].rule for t in showing if t.diagnosis.causes)
    return Counter() if rule_id in answers else answers


def _overlapping(tried: Tried) -> Iterator[Remark]:
    rule = tried.written.rule
    told = set[str]()
    for number, trace in enumerate(tried.examples):
        own = _held(rule.id, trace)
        for other in trace.findings:
            if own is None or other.rule.id in told or not _undecided(own, other):
                continue
            told.add(other.rule.id)
            winner = rule.id if own.width >= other.width else other.rule.id
            what = f"'{other.rule.id}' claims the same line of this example, and neither rule explains the other"
            more = f"({own.width} against {other.width} characters)"
            why = f"'{winner}' wins here, because it matches more of the line {more}"
            cure = "name the weaker one in 'explains' of the stronger, or make one of the texts narrower"
            yield tried.written.remark("overlapping", ("examples", number), what, why, cure)


def _undecided(a: Finding, b: Finding) -> bool:
    """Whether both rest on one line and no rule file says which is right."""
    same_line = a.events[0].order == b.events[0].order and a.rule.role == b.rule.role
    return same_line and a.rule.signature != b.rule.signature and names(a.rule, b.rule) == names(b.rule, a.rule)

"""Checks that run the examples of a rule with all rules loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from logdoctor.authoring.condition_checks import as_list
from logdoctor.authoring.lint_issue import LintIssue, RuleSource
from logdoctor.authoring.tracing import Trace
from logdoctor.model import Finding


class RuleTraces(Struct, frozen=True):
    """A rule with the traces of its examples and near-misses, in their order."""

    source: RuleSource
    examples: Sequence[Trace]
    near_misses: Sequence[Trace]


CLEARLY_MORE = 1.25
"""A match that is so many times as long decides which of two rules tells more of a line."""


def check_examples(traces: RuleTraces) -> Iterator[LintIssue]:
    """Find rules and symptoms that their own examples do not prove."""
    if not any(_finding_of(traces.source.rule.id, t) for t in traces.examples):
        yield _never_holds(traces)
        return
    yield from _never_hit(traces)
    yield from _shadowed(traces)
    yield from _overlapping(traces)
    yield from _unproven(traces)


def _finding_of(rule_id: str, trace: Trace) -> Finding | None:
    return next((f for f in (*trace.findings, *trace.harmless) if f.rule.id == rule_id), None)


def _never_holds(traces: RuleTraces) -> LintIssue:
    rule = traces.source.rule
    matched = {name for t in traces.examples for name in t.matches.get(rule.id, ())}
    why = f"of its symptoms the examples show {', '.join(sorted(matched)) or 'none'}"
    takers = {f.rule.id for t in traces.examples for f in t.findings}
    if matched and rule.role == "fallback" and takers:
        why += f"; a fallback sees only what no other rule took, and here took: {', '.join(sorted(takers))}"
    cure = "logdoctor events FILE shows what the parsers make of the example; the text must be found in 'text' there"
    return traces.source.issue("unreachable", ("when",), "the rule holds in none of its own examples", why, cure)


def _never_hit(traces: RuleTraces) -> Iterator[LintIssue]:
    rule = traces.source.rule
    refusing = as_list(rule.when.get("none"))
    for symptom in rule.symptoms:
        pool = [*traces.examples, *(traces.near_misses if symptom.name in refusing else ())]
        if not any(symptom.name in t.matches.get(rule.id, ()) for t in pool):
            what = f"no example shows the symptom '{symptom.name}'"
            cure = "add an example with such a line, or take the symptom out"
            why = "nothing proves that it works"
            yield traces.source.issue("never-hit", ("symptoms", symptom.name), what, why, cure)


def _shadowed(traces: RuleTraces) -> Iterator[LintIssue]:
    """Find symptoms in whose examples another rule is the answer every time."""
    rule = traces.source.rule
    if rule.role == "benign":
        return
    lost = {s.name: _winners(rule.id, s.name, traces.examples) for s in rule.symptoms if s.name in _deciding(traces)}
    whole = lost and all(lost.values())
    for name, winners in lost.items():
        if winners:
            other = winners.most_common(1)[0][0]
            what = f"where the symptom '{name}' is shown, '{other}' is the answer every time"
            if whole:
                what = f"where this rule holds, '{other}' is the answer every time"
            part = ("symptoms", name)
            yield traces.source.issue("shadowed", part, what, f"in {sum(winners.values())} examples", _WINNING)
            if whole:
                return


_WINNING = (
    "of one line that rule wins that is a kind of the other, has the stronger role (cause, symptom, fallback), "
    "or matches more of it"
)


def _deciding(traces: RuleTraces) -> Collection[str]:
    """Return the symptoms in ``any``. Other symptoms may stand beside an answer of another rule."""
    return as_list(traces.source.rule.when.get("any"))


def _winners(rule_id: str, symptom: str, examples: Sequence[Trace]) -> Counter[str]:
    """Count the answers to the examples that show the symptom.

    Return nothing if the rule itself is the answer to one of them.
    """
    matching = [t for t in examples if symptom in t.matches.get(rule_id, ())]
    answers = Counter(t.diagnosis.causes[0].rule for t in matching if t.diagnosis.causes)
    return Counter() if rule_id in answers else answers


def _overlapping(traces: RuleTraces) -> Iterator[LintIssue]:
    rule = traces.source.rule
    reported = set[str]()
    for number, trace in enumerate(traces.examples):
        for pair in trace.undecided:
            other = next((f.rule.id for f in pair if f.rule.id != rule.id), "")
            if rule.id not in (pair[0].rule.id, pair[1].rule.id) or other in reported:
                continue
            winner, loser = pair
            if winner.match_length > CLEARLY_MORE * loser.match_length:
                continue
            reported.add(other)
            what = f"'{other}' claims the same line of this example, and nothing says which of the two tells more"
            more = f"({winner.match_length} against {loser.match_length} characters)"
            why = f"'{winner.rule.id}' wins here, because it matches more of the line {more}"
            cure = "make one of the texts narrower, or say in signatures.tsv that one is a kind of the other"
            yield traces.source.issue("overlapping", ("examples", number), what, why, cure)


def _unproven(traces: RuleTraces) -> Iterator[LintIssue]:
    """Find entries of ``because`` that no example shows: both rules must hold in one log."""
    rule = traces.source.rule
    shown = {
        name
        for t in (*traces.examples, *traces.near_misses)
        if _finding_of(rule.id, t)
        for f in t.findings
        for name in (f.rule.id, f.rule.signature)
    }
    for number, special in enumerate(rule.because):
        if special.of not in shown:
            what = f"in no example does {special.of} hold beside this rule"
            cure = "add an example that shows both, or take the entry out"
            yield traces.source.issue("unproven-because", ("because", number), what, "nothing proves the entry", cure)

"""The lint: all checks of all rules.

A rule can ignore an issue with a reason: ``lint: {ignore: {overlapping: both are right, the remedies are the same}}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from logdoctor.authoring.condition_checks import check_conditions
from logdoctor.authoring.example_checks import RuleTraces, check_examples
from logdoctor.authoring.language_checks import check_language
from logdoctor.authoring.lint_issue import LintIssue, RuleSource
from logdoctor.authoring.signature_checks import check_signature
from logdoctor.authoring.text_checks import check_texts
from logdoctor.authoring.tracing import trace_text
from logdoctor.authoring.translation_checks import check_translations
from logdoctor.authoring.word_checks import check_todo, check_words
from logdoctor.model import Problem, Rule
from logdoctor.pipeline.knowledge import Knowledge, gather
from logdoctor.ruleset.documents import languages
from logdoctor.ruleset.loading import read
from logdoctor.ruleset.tables import SIGNATURES


class LintResult(Struct, frozen=True):
    """The number of checked rules, all issues sorted by file and line, and the rules without a translation.

    ``untranslated`` counts them by each language that their folder has.
    """

    count: int
    issues: list[LintIssue]
    untranslated: dict[str, int]


def lint(folders: Sequence[Path], only: Sequence[str] = ()) -> LintResult:
    """Check rules.

    ``only`` holds ids or signatures of the rules to check. Faults of unreadable files are returned in any case.
    """
    book, knowledge = read(folders), gather(folders)
    loaded = {r.id for r in knowledge.rules}
    sources = [RuleSource(r, book.documents[r.id]) for r in book.rules if r.id in loaded]
    chosen = [s for s in sources if not only or s.rule.id in only or s.rule.signature in only]
    bases_last = sorted(chosen, key=lambda s: s.rule.id == s.rule.signature)
    issues = [*map(_faulty, knowledge.faults), *(i for s in bases_last for i in _check_rule(s, knowledge))]
    if not any(SIGNATURES in fault.where for fault in book.faults):  # a faulty table lacks the lines after its fault
        issues += [i for s in chosen for i in check_signature(s, folders, book.signatures)]
    # what variants take from their base is told once, as an issue of the base
    distinct = {(i.code, i.where, i.what): i for i in _not_ignored(issues, chosen)}
    return LintResult(len(chosen), sorted(distinct.values(), key=_place), _untranslated(chosen, folders))


def _untranslated(sources: Iterable[RuleSource], folders: Sequence[Path]) -> dict[str, int]:
    missing = Counter[str]()
    for source in sources:
        missing.update({*languages(source.folder(folders))} - dict(source.rule.words).keys())
    return dict(missing)


def _place(issue: LintIssue) -> tuple[str, int, str]:
    file, _, line = issue.where.rpartition(":")
    return (file, int(line), issue.code) if line.isdigit() else (issue.where, 0, issue.code)


def _faulty(fault: Problem) -> LintIssue:
    return LintIssue("faulty", "", fault.what, fault.where, fault.why, fault.help)


def _check_rule(source: RuleSource, knowledge: Knowledge) -> Iterator[LintIssue]:
    traces = _trace(source, knowledge)
    yield from check_texts(source)
    yield from check_conditions(source)
    yield from check_words(source, traces.examples)
    yield from check_translations(source)
    yield from check_language(source, traces.examples)
    yield from check_todo(source)
    yield from check_examples(traces)


def _trace(source: RuleSource, knowledge: Knowledge) -> RuleTraces:
    rule: Rule = source.rule
    misses = rule.near_misses if "none" in rule.when or rule.because else ()
    return RuleTraces(
        source,
        [trace_text(e.log, knowledge) for e in rule.examples],
        [trace_text(m.log, knowledge) for m in misses],
    )


def _not_ignored(issues: Iterable[LintIssue], sources: Sequence[RuleSource]) -> Iterator[LintIssue]:
    reasons = {s.rule.id: s.ignored() for s in sources}
    used = set[tuple[str, str]]()
    for issue in issues:
        if issue.code in reasons.get(issue.rule, {}):
            used.add((issue.rule, issue.code))
        else:
            yield issue
    for source in sources:
        for code in reasons[source.rule.id]:
            if (source.rule.id, code) not in used:
                what = f"'{code}' is ignored, but there is nothing of the kind"
                yield source.issue("unused-ignore", ("lint", "ignore", code), what, "", "take it out")

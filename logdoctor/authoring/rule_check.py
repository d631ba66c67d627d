"""Check rules against their own examples, with all rules loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from logdoctor.authoring.example_files import example_files
from logdoctor.model import CALM, Cause, Diagnosis, Example, Rule
from logdoctor.pipeline.diagnosis import diagnose
from logdoctor.pipeline.knowledge import Knowledge, gather
from logdoctor.ruleset.loading import Ruleset, read

_BRACES = re.compile(r"\{[^{}]*\}")


class FailedExample(Struct, frozen=True):
    """An example whose diagnosis differs from its rule."""

    rule: str
    where: str
    kind: str
    expected: str
    actual: str


def check_rules(folders: Sequence[Path], only: Sequence[str] = ()) -> tuple[int, list[FailedExample]]:
    """Diagnose the examples and near-misses of the rules below ``folders``.

    ``only`` may hold ids and signatures of rules.  Returns the number of examples and those that failed.  Faulty rules
    are left out.
    """
    book, pack = read(folders), gather(folders)
    rules = [r for r in book.rules if not only or r.id in only or r.signature in only]
    count = sum(len(r.examples) + len(r.near_misses) for r in rules)
    return count, [failed for rule in rules for failed in check_rule(rule, book, pack)]


def check_rule(rule: Rule, book: Ruleset, pack: Knowledge) -> Iterator[FailedExample]:
    """Yield the failed examples and near-misses of one rule."""
    for example in rule.examples:
        expected = "healthy" if rule.role == "benign" else rule.signature
        yield from _compare(rule, example, "example", expected, pack)
    for miss in rule.near_misses:
        other = book.rule(miss.truth)
        yield from _compare(rule, miss, "near-miss", other.signature if other else miss.truth, pack)


def _compare(rule: Rule, example: Example, kind: str, expected: str, pack: Knowledge) -> Iterator[FailedExample]:
    diagnosis = diagnose_text(example.log, pack)
    actual = first_signature(diagnosis)
    where = f"{rule.path}:{example.line}"
    if actual != expected:
        yield FailedExample(rule.id, where, kind, expected, actual)
        return
    for told in _unfilled(diagnosis.causes[:1], example.log):
        yield FailedExample(rule.id, where, f"the words for the {kind}", "filled", told)
    for name, value in example.finds:
        found = _value(diagnosis.causes[0], name) if diagnosis.causes else None
        if value not in (found if isinstance(found, tuple) else (found,)):
            yield FailedExample(rule.id, where, f"{kind}, '{name}'", str(value), str(found))


def _unfilled(causes: Sequence[Cause], log: str) -> Iterator[str]:
    """Yield the title or cause in which a place was left open. A value of the log may hold braces."""
    for told in (text for cause in causes for text in (cause.title, cause.summary)):
        own = told
        for braces in _BRACES.findall(log):
            own = own.replace(braces, "")
        if "{" in own:
            yield told


def diagnose_text(log: str, pack: Knowledge) -> Diagnosis:
    """Diagnose the text of a log.  A first line ``# hung`` says that the job hangs."""
    hung = log.startswith("# hung\n")
    return diagnose(example_files(log), name="example", knowledge=pack, hung=hung)


def first_signature(diagnosis: Diagnosis) -> str:
    """Return the signature of the first cause, else the verdict."""
    if diagnosis.causes:
        return diagnosis.causes[0].signature
    return "healthy" if diagnosis.verdict in CALM else diagnosis.verdict


def _value(cause: Cause, name: str) -> object:
    return {
        "rank": cause.culprit.ranks,
        "host": cause.culprit.hosts,
        "gpu": cause.culprit.gpus,
        "peer": cause.culprit.peers,
        "rule": cause.rule,
        "summary": cause.summary,
    }.get(name)

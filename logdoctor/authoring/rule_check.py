"""Proves rules by their own examples: each must be diagnosed as it says, with ALL rules loaded."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from logdoctor.diagnosis import diagnose
from logdoctor.knowledge import Knowledge, gather
from logdoctor.model import Cause, Diagnosis, Example, Rule
from logdoctor.rulebook.loading import Rulebook, read


class Failed(Struct, frozen=True):
    """An example that came out otherwise than its rule says."""

    rule: str
    where: str
    kind: str
    wanted: str
    got: str


def check(folders: Sequence[Path], only: Sequence[str] = ()) -> tuple[int, list[Failed]]:
    """Run the examples and near-misses of the rules below ``folders`` (of the ids in ``only``, if any).

    Returns how many were run and those that failed; faulty rules are left out.
    """
    book, known = read(folders), gather(folders)
    rules = [r for r in book.rules if not only or r.id in only or r.signature in only]
    count = sum(len(r.examples) + len(r.near_misses) for r in rules)
    return count, [failed for rule in rules for failed in check_rule(rule, book, known)]


def check_rule(rule: Rule, book: Rulebook, known: Knowledge) -> Iterator[Failed]:
    """The examples and near-misses of one rule that come out otherwise than it says."""
    for example in rule.examples:
        wanted = "healthy" if rule.role == "benign" else rule.signature
        yield from _compare(rule, example, "example", wanted, known)
    for miss in rule.near_misses:
        named = book.rule(miss.truth)
        yield from _compare(rule, miss, "near-miss", named.signature if named else miss.truth, known)


def _compare(rule: Rule, example: Example, kind: str, wanted: str, known: Knowledge) -> Iterator[Failed]:
    diagnosis = diagnose_text(example.log, known)
    got = answer(diagnosis)
    where = f"{rule.path}:{example.line}"
    if got != wanted:
        yield Failed(rule.id, where, kind, wanted, got)
        return
    for name, value in example.finds:
        actual = _value(diagnosis.causes[0], name) if diagnosis.causes else None
        if value not in (actual if isinstance(actual, tuple) else (actual,)):
            yield Failed(rule.id, where, f"{kind}, '{name}'", str(value), str(actual))


def diagnose_text(log: str, known: Knowledge) -> Diagnosis:
    """Diagnose a log that is at hand as text."""
    hung = log.startswith("# hung\n")
    return diagnose(io.BytesIO(log.encode()), name="example", knowledge=known, hung=hung)


def answer(diagnosis: Diagnosis) -> str:
    """The signature of the first cause, else the verdict."""
    return diagnosis.causes[0].signature if diagnosis.causes else diagnosis.verdict


def _value(cause: Cause, name: str) -> object:
    return {
        "rank": cause.culprit.ranks,
        "host": cause.culprit.hosts,
        "gpu": cause.culprit.gpus,
        "peer": cause.culprit.peers,
        "rule": cause.rule,
        "summary": cause.summary,
    }.get(name)

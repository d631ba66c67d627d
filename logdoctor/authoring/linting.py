"""All checks over all rules: everything that is wrong, at once, less what a rule's own lint entry gives a reason for.

Such an entry is ``lint: {ignore: {overlapping: both are right, the remedies are the same}}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from logdoctor.authoring.condition_checks import check_circles, check_conditions
from logdoctor.authoring.example_checks import Tried, check_examples
from logdoctor.authoring.remark import Remark, Written
from logdoctor.authoring.text_checks import check_texts
from logdoctor.authoring.tracing import trace_text
from logdoctor.authoring.translation_checks import check_translations
from logdoctor.authoring.word_checks import check_todo, check_words
from logdoctor.knowledge import Knowledge, gather
from logdoctor.model import Problem, Rule
from logdoctor.rulebook.loading import read


def lint(folders: Sequence[Path], only: Sequence[str] = ()) -> tuple[int, list[Remark]]:
    """How many rules were looked at, and all remarks on them in the order of files and lines.

    ``only`` restricts it to rules of these ids or signatures; files that cannot be read as rules are told anyway.
    """
    book, known = read(folders), gather(folders)
    loaded = {r.id for r in known.rules}
    rules = [Written(r, book.documents[r.id]) for r in book.rules if r.id in loaded]
    wanted = [w for w in rules if not only or w.rule.id in only or w.rule.signature in only]
    found = [*map(_faulty, known.faults), *(r for w in wanted for r in _of_one(w, known))]
    if not only:
        found += check_circles(rules)
    return len(wanted), sorted(_not_ignored(found, wanted), key=_place)


def _place(remark: Remark) -> tuple[str, int, str]:
    file, _, line = remark.where.rpartition(":")
    return (file, int(line), remark.code) if line.isdigit() else (remark.where, 0, remark.code)


def _faulty(fault: Problem) -> Remark:
    return Remark("faulty", "", fault.what, fault.where, fault.why, fault.help)


def _of_one(written: Written, known: Knowledge) -> Iterator[Remark]:
    tried = _try(written, known)
    yield from check_texts(written)
    yield from check_conditions(written)
    yield from check_words(written, tried.examples)
    yield from check_translations(written)
    yield from check_todo(written)
    yield from check_examples(tried)


def _try(written: Written, known: Knowledge) -> Tried:
    rule: Rule = written.rule
    misses = rule.near_misses if "none" in rule.when else ()
    return Tried(
        written,
        [trace_text(e.log, known) for e in rule.examples],
        [trace_text(m.log, known) for m in misses],
    )


def _not_ignored(found: Iterable[Remark], rules: Sequence[Written]) -> Iterator[Remark]:
    reasons = {w.rule.id: w.ignored() for w in rules}
    used = set[tuple[str, str]]()
    for remark in found:
        if remark.code in reasons.get(remark.rule, {}):
            used.add((remark.rule, remark.code))
        else:
            yield remark
    for written in rules:
        for code in reasons[written.rule.id]:
            if (written.rule.id, code) not in used:
                what = f"'{code}' is ignored, but there is nothing of the kind"
                yield written.remark("unused-ignore", ("lint", "ignore", code), what, "", "take it out")

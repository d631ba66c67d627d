"""Reasons of an answer: its lines, rule, culprit, owner and claims, and the rules that lost to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from logdoctor.model import GROUNDS, WITH_CAUSE, Cause, Diagnosis, Evidence, Fact, SymptomSeen, say_fact
from logdoctor.model.escape import escape_all
from logdoctor.render.catalogue import Catalogue, catalogue
from logdoctor.render.columns import shorten, wrap
from logdoctor.render.entity_names import location_name
from logdoctor.render.phrases import location

MOST_LINES, MOST_ROWS, MOST_FACTS = 4, 6, 12
MARGIN = 4


def render_why(diagnosis: Diagnosis, lang: str = "en", width: int = 100) -> str:
    """Return the reasoning behind each cause as text for a terminal."""
    diagnosis, words = escape_all(diagnosis, tab=" "), catalogue(lang)
    lines = [*_without_cause(diagnosis, words)] if not diagnosis.causes else []
    for cause in diagnosis.causes:
        lines += _cause(cause, diagnosis.symptoms, words, known=diagnosis.verdict in WITH_CAUSE)
    lines += _rows("why.left", [_left(s, words) for s in diagnosis.symptoms if s.explained_by is None], words)
    return "".join(f"{line}\n" for text in lines for line in _fit(text, width))


def _fit(text: str, width: int) -> list[str]:
    """Break a sentence and shorten the line of a log, which holds its own spaces."""
    body = text.lstrip(" ")
    margin = " " * (len(text) - len(body))
    if "  " in body:
        return [margin + shorten(body, width - len(margin))]
    return [margin + line for line in wrap(body, width - len(margin))]


def _without_cause(diagnosis: Diagnosis, words: Catalogue) -> Iterator[str]:
    yield f"{diagnosis.verdict}{words('colon')}{words('why.no-cause')}"
    yield from _proof(diagnosis.unexplained, words)


def _cause(cause: Cause, symptoms: Sequence[SymptomSeen], words: Catalogue, *, known: bool) -> Iterator[str]:
    rule = words("why.rule", rule=cause.rule or cause.by, origin=cause.rule_origin)
    yield f"{cause.signature} · {rule.strip()} · {words('confidence', value=f'{cause.confidence:.2f}')}"
    yield from _proof(cause.evidence, words)
    yield from _rows("why.facts", [_known(fact, words) for fact in cause.facts], words, MOST_FACTS)
    culprit, ground = location_name(cause.culprit, words) or words("culprit.none"), cause.culprit.why
    yield from _fact("culprit", culprit, words(f"ground.{ground}") if ground else "", words)
    if place := location_name(cause.place, words):
        yield from _fact("place", place, "", words)
    passed = GROUNDS[: GROUNDS.index(ground)] if ground in GROUNDS else GROUNDS if known else ()
    yield from _rows("why.grounds", [words(f"ground.no.{name}") for name in passed], words, len(GROUNDS))
    if cause.owner.who != "not-told":
        yield from _fact("owner", words(f"owner.who.{cause.owner.who}"), cause.owner.why, words)
    checks = [f"{words(f'why.{check.holds}')}{words('colon')}{check.claim}" for check in cause.checked]
    yield from _rows("why.claims", checks, words)
    lost = [_lost(s, words) for s in symptoms if s.explained_by == cause.signature]
    yield from _rows("why.lost", lost, words)


def _proof(evidence: Sequence[Evidence], words: Catalogue) -> Iterator[str]:
    lines = [f"{location(line)}  {line.line.text.strip()}" for line in evidence]
    yield from _rows("proof", lines, words, MOST_LINES)


def _known(fact: Fact, words: Catalogue) -> str:
    """Return a fact of the proof: its sort, its role, its value as people say it, and its place."""
    names = (words(f"fact.type.{fact.type}"), words.table.get(f"fact.role.{fact.role}", fact.role), fact.of)
    name = " ".join(filter(None, names))
    return f"{name}{words('colon')}{say_fact(fact, words.lang)}  {location(fact.line)}"


def _fact(key: str, name: str, why: str, words: Catalogue) -> Iterator[str]:
    yield f"  {words(key)}{words('colon')}{words('sentence.joint').join(part for part in (f'{name}.', why) if part)}"


def _lost(symptom: SymptomSeen, words: Catalogue) -> str:
    law = words(f"why.law.{symptom.law}") if symptom.law else words("why.between")
    way = f" ({symptom.way})" if symptom.way else ""
    return f"{symptom.rule or symptom.signature}{_at(symptom)}{words('colon')}{law}{way}"


def _left(symptom: SymptomSeen, words: Catalogue) -> str:
    refuted = symptom.refuted_by
    reason = words("why.refuted", where=f"{refuted.line.file}:{refuted.line.number}") if refuted else words("why.open")
    return f"{symptom.rule or symptom.signature}{_at(symptom)}{words('colon')}{reason}"


def _at(symptom: SymptomSeen) -> str:
    return f" {location(symptom.evidence[0])}" if symptom.evidence else ""


def _rows(key: str, rows: Sequence[str], words: Catalogue, most: int = MOST_ROWS) -> list[str]:
    """Return a heading and its rows. Of many, the first stand for all."""
    left = [words("more", n=len(rows) - most)] if len(rows) > most else []
    return [f"  {words(key)}", *(" " * MARGIN + row for row in (*rows[:most], *left))] if rows else []

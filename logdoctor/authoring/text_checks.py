"""Checks of symptom texts: find slow texts and texts that match harmless lines."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.authoring.lint_issue import LintIssue, RuleSource
from logdoctor.matcher.scan_pattern import scan_cost
from logdoctor.model import Symptom
from logdoctor.model.kinds import fits

DEAR = 300.0
"""A plain text that costs as much as so many good ones is too short, or stands in too many harmless lines."""
CASELESS_COST = 1.5


def check_texts(source: RuleSource) -> Iterator[LintIssue]:
    """Check the texts that the scan searches for."""
    for symptom in source.rule.symptoms:
        if symptom.text is not None and not _found_by_kind(symptom):
            yield from _check_text(source, symptom, symptom.text)


def _found_by_kind(symptom: Symptom) -> bool:
    """Return True if a format's pattern finds the lines. Then the scan does not search for the text."""
    of_text = symptom.kind is None or fits("text.line", symptom.kind)
    return not of_text or (symptom.format is not None and not fits("text", symptom.format))


def _check_text(source: RuleSource, symptom: Symptom, text: str) -> Iterator[LintIssue]:
    part = ("symptoms", symptom.name, "text")
    try:
        cost, dearest, caseless = scan_cost(text)
    except ValueError:
        return  # with a kind this is no fault, without a kind the pack reports it as a fault
    if not dearest:
        why = "every match must hold one of a few plain texts; here a match may hold too many different ones, or none"
        cure = "write out the words that are always there, three letters or more in a row"
        yield source.issue("slow", part, f"the symptom '{symptom.name}' holds no plain text to search for", why, cure)
        return
    if cost * (CASELESS_COST if caseless else 1.0) > DEAR:
        how = ", in any case of the letters," if caseless else ""
        what = f"the symptom '{symptom.name}' is searched by the text '{dearest}'"
        why = f"it is short or common{how} and stands in many lines that mean something else"
        cure = "add words that always stand beside it, or the kind of the line; write [Ff] instead of (?i)"
        yield source.issue("broad", part, what, why, cure)

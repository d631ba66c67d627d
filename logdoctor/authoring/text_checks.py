"""Checks of a symptom's text: will the scan find it fast, and little else."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.authoring.remark import Remark, Written
from logdoctor.kinds import fits
from logdoctor.model import Symptom
from logdoctor.prefilter import scan_cost

DEAR = 300.0
"""Plain texts that cost more than so many good ones are too short, or stand in too many harmless lines."""
CASELESS_COST = 1.5


def check_texts(written: Written) -> Iterator[Remark]:
    """Remarks on the texts that the scan has to search for."""
    for symptom in written.rule.symptoms:
        if symptom.text is not None and not _found_by_kind(symptom):
            yield from _check_text(written, symptom, symptom.text)


def _found_by_kind(symptom: Symptom) -> bool:
    """Whether records find the lines: the scan does not look for the text then."""
    of_text = symptom.kind is None or fits("text.line", symptom.kind)
    return not of_text or (symptom.dialect is not None and not fits("text", symptom.dialect))


def _check_text(written: Written, symptom: Symptom, text: str) -> Iterator[Remark]:
    part = ("symptoms", symptom.name, "text")
    try:
        cost, dearest, caseless = scan_cost(text)
    except ValueError:
        return  # with a kind it is no fault, without one it is told as a fault already
    if not dearest:
        why = "every match must hold one of a few plain texts; here a match may hold too many different ones, or none"
        cure = "write out the words that are always there, three letters or more in a row"
        yield written.remark("slow", part, f"the symptom '{symptom.name}' holds no plain text to search for", why, cure)
        return
    if cost * (CASELESS_COST if caseless else 1.0) > DEAR:
        how = ", in any case of the letters," if caseless else ""
        what = f"the symptom '{symptom.name}' is searched by the text '{dearest}'"
        why = f"it is short or common{how} and stands in many lines that mean something else"
        cure = "add words that always stand beside it, or the kind of the line; write [Ff] instead of (?i)"
        yield written.remark("broad", part, what, why, cure)

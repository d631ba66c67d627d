"""What is answered to a case, by rules and classifier together or by the classifier alone."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from logdoctor.classifier import SHIPPED_MODEL
from logdoctor.classifier.features import features
from logdoctor.classifier.linear_model import HEALTHY, load_model
from logdoctor.diagnosis import diagnose, events
from logdoctor.evaluation.cases import Case
from logdoctor.knowledge import Knowledge
from logdoctor.model import InputError


class Answer(Struct, frozen=True):
    """A signature, ``healthy`` or ``unknown``; how sure; by whom; whether the culprit is right (None: nobody asks)."""

    case: Case
    signature: str
    confidence: float | None = None
    by: str = ""
    culprit: bool | None = None


def answer(case: Case, known: Knowledge, model: Path | None = None, *, rules: bool = True) -> Answer:
    """The first answer to ``case``; what cannot be read is ``unknown``."""
    try:
        return _diagnosed(case, known, model) if rules else _guessed(case, known, model or SHIPPED_MODEL)
    except InputError:
        return Answer(case, "unknown")


def _diagnosed(case: Case, known: Knowledge, model: Path | None) -> Answer:
    found = diagnose(case.logs, name=case.name, knowledge=known, model=model, hung=case.hung)
    asked = bool(case.ranks or case.hosts)
    if found.verdict != "failure":
        return Answer(case, found.verdict, culprit=False if asked else None)
    first = found.causes[0]
    named = set(first.culprit.ranks) & set(case.ranks) or set(first.culprit.hosts) & set(case.hosts)
    return Answer(case, first.signature, first.confidence, first.by, bool(named) if asked else None)


def _guessed(case: Case, known: Knowledge, model: Path) -> Answer:
    """What the classifier takes for the most likely, however unlikely: of a log without events, that it is healthy."""
    seen = features(events(case.logs, knowledge=known))
    best = load_model(model).best(seen)
    return Answer(case, best.signature, best.probability, "classifier") if seen else Answer(case, HEALTHY)

"""Answers to cases, from rules and classifier or from the classifier alone."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from logdoctor.classifier import SHIPPED_MODEL
from logdoctor.classifier.features import extract_features
from logdoctor.classifier.linear_model import HEALTHY, load_model
from logdoctor.evaluation.cases import Case
from logdoctor.model import CALM, InputError
from logdoctor.pipeline.diagnosis import diagnose, events
from logdoctor.pipeline.knowledge import Knowledge


class Answer(Struct, frozen=True):
    """The answer to a case: a signature, ``healthy`` (for every verdict without a failure) or ``unknown``.

    ``by`` is ``rule``, ``classifier`` or a baseline.  ``culprit_right`` is None if the case names no culprit.
    """

    case: Case
    signature: str
    confidence: float | None = None
    by: str = ""
    culprit_right: bool | None = None


def answer_case(case: Case, pack: Knowledge, model: Path | None = None, *, rules: bool = True) -> Answer:
    """Return the first answer to ``case``, ``unknown`` for unreadable logs."""
    try:
        return _diagnose(case, pack, model) if rules else _guess(case, pack, model or SHIPPED_MODEL)
    except InputError:
        return Answer(case, "unknown")


def _diagnose(case: Case, pack: Knowledge, model: Path | None) -> Answer:
    diagnosis = diagnose(case.logs, name=case.name, knowledge=pack, model=model, hung=case.hung)
    has_culprit = bool(case.ranks or case.hosts)
    cause = next(iter(diagnosis.causes), None)  # a guess too, because its confidence is measured
    if cause is None:
        word = HEALTHY if diagnosis.verdict in CALM else diagnosis.verdict
        return Answer(case, word, culprit_right=False if has_culprit else None)
    right = set(cause.culprit.ranks) & set(case.ranks) or set(cause.culprit.hosts) & set(case.hosts)
    return Answer(case, cause.signature, cause.confidence, cause.by, bool(right) if has_culprit else None)


def _guess(case: Case, pack: Knowledge, model: Path) -> Answer:
    """Return the most probable class, also below the threshold. A log without records is healthy."""
    features = extract_features(events(case.logs, knowledge=pack))
    best = load_model(model).most_probable(features)
    return Answer(case, best.signature, best.probability, "classifier") if features else Answer(case, HEALTHY)

"""Turns ranked findings into the causes and symptoms of a diagnosis, in words."""

from __future__ import annotations

from collections.abc import Sequence

from logdoctor.catalogues import in_words
from logdoctor.model import Cause, Evidence, Finding, Strength, SymptomSeen
from logdoctor.reasoning.picture import Picture
from logdoctor.reasoning.ranking import TIERS, Ranked
from logdoctor.reasoning.wording import Told, fill, fill_words

CAUSES_SHOWN = 3
EVIDENCE_SHOWN = 6
CONFIDENCE: dict[Strength, float] = {"proof": 0.97, "strong": 0.9, "likely": 0.75, "hint": 0.5}
"""How often an answer of that strength is right; see docs/architecture.md for how it was measured."""
RIVAL = 0.85
"""An equally good rival takes that share of the confidence."""


def causes_of(ranked: Ranked, picture: Picture, lang: str) -> tuple[Cause, ...]:
    """The answer first, then what else could be meant or went wrong independently."""
    shown = ranked.causes[:CAUSES_SHOWN]
    return tuple(_cause(f, i, ranked, picture, lang) for i, f in enumerate(shown))


def _cause(finding: Finding, place: int, ranked: Ranked, picture: Picture, lang: str) -> Cause:
    rule = finding.rule
    words = fill_words(rule.say(lang), Told(finding, lang))
    explained = (f.rule.signature for f, by in ranked.explained if by is finding)
    return Cause(
        signature=rule.signature,
        title=words.title,
        summary=words.cause,
        confidence=_confidence(finding, place, ranked.causes),
        by="rule",
        culprit=finding.culprit,
        action=rule.action,
        remedy=words.remedy,
        references=rule.references,
        evidence=_evidence(finding, picture, lang, with_progress=place == 0),
        explains=tuple(dict.fromkeys(explained)),
        rule=rule.id,
    )


def _confidence(finding: Finding, place: int, causes: Sequence[Finding]) -> float:
    tier = TIERS[finding.rule.strength]
    rivals = sum(
        f is not finding and f.rule.role == finding.rule.role and TIERS[f.rule.strength] == tier for f in causes
    )
    sure = CONFIDENCE[finding.rule.strength] * RIVAL ** min(rivals, 2)
    return round(sure / (place + 1), 2)


def _evidence(finding: Finding, picture: Picture, lang: str, *, with_progress: bool) -> tuple[Evidence, ...]:
    """The decisive line, one of each other symptom, what their codes mean, and the last sign of life before it."""
    lines: dict[tuple[str, int], Evidence] = {}
    for event in finding.events:
        if len(lines) < EVIDENCE_SHOWN:
            place = (event.line.file, event.line.number)
            lines.setdefault(place, picture.evidence(event, in_words(event, lang)))
    progress = picture.last_progress() if with_progress else None
    if progress:
        lines.setdefault((progress.evidence.line.file, progress.evidence.line.number), progress.evidence)
    return tuple(lines.values())


def symptoms_of(ranked: Ranked, picture: Picture, lang: str) -> tuple[SymptomSeen, ...]:
    """What was seen and is not the cause, in the order of the log."""
    rows = sorted(ranked.explained, key=lambda pair: pair[0].first)
    rest = [(f, None) for f in ranked.causes[CAUSES_SHOWN:]]
    return tuple(
        SymptomSeen(
            signature=f.rule.signature,
            title=fill(f.rule.say(lang).title, Told(f, lang)),
            explained_by=by.rule.signature if by else None,
            ranks=f.ranks,
            count=f.count,
            evidence=tuple(picture.evidence(e, in_words(e, lang)) for e in f.events[:3]),
        )
        for f, by in (*rows, *rest)
    )

"""Turns ranked findings into the causes and symptoms of a diagnosis, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from logdoctor.catalogues import explain_codes
from logdoctor.model import Cause, Event, Evidence, Finding, Line, SymptomSeen
from logdoctor.reasoning import confidence
from logdoctor.reasoning.picture import Picture
from logdoctor.reasoning.ranking import Ranked
from logdoctor.reasoning.wording import Told, fill, fill_words
from logdoctor.regexes import later

_Said = tuple[tuple[int | None, str | None], str]
_NUMBER = later(r"\b(?:0x)?[a-f]*+\d[0-9a-f]*+\b")
CAUSES_SHOWN = 3
EVIDENCE_SHOWN, SYMPTOM_EVIDENCE = 6, 3
ALIKE_SHOWN = 3
"""So many lines of one speaker that differ in their numbers only prove as much as more of them."""
SENTENCE_LINES = 2
"""A sentence goes on in so many lines."""
PREFERRED = {
    "en": " Nothing in these logs decides between this and '{other}'; the classifier finds this one more likely.",
    "zh": "这些日志无法区分它与“{other}”;分类器认为它的可能性更大。",
}

LAST_PROGRESS = {"en": "last sign of progress", "zh": "最后进度"}


def causes_of(ranked: Ranked, unexplained: Sequence[Event], picture: Picture, lang: str) -> tuple[Cause, ...]:
    """The answer first, then what else could be meant or went wrong independently; each the less sure."""
    shown = ranked.causes[:CAUSES_SHOWN]
    chances = [confidence.chance(confidence.facts(f, ranked, unexplained)) for f in shown]
    return tuple(_cause(f, chances[i] / (i + 1), ranked, picture, lang) for i, f in enumerate(shown))


def _cause(finding: Finding, sure: float, ranked: Ranked, picture: Picture, lang: str) -> Cause:
    rule = finding.rule
    words = fill_words(rule.say(lang), Told(finding, lang))
    other = next((f.rule.signature for f in ranked.causes if f is not finding), "")
    preferred = PREFERRED.get(lang, PREFERRED["en"]).format(other=other) if finding is ranked.preferred else ""
    explained = (f.rule.signature for f, by in ranked.explained if by is finding)
    return Cause(
        signature=rule.signature,
        title=words.title,
        summary=f"{words.cause}{preferred}",
        confidence=round(sure, 2),
        by="classifier" if preferred else "rule",
        culprit=finding.culprit,
        action=rule.action,
        remedy=words.remedy,
        references=rule.references,
        evidence=_evidence(finding, picture, lang, with_progress=finding is ranked.causes[0]),
        explains=tuple(dict.fromkeys(explained)),
        rule=rule.id,
    )


def _evidence(finding: Finding, picture: Picture, lang: str, *, with_progress: bool) -> tuple[Evidence, ...]:
    """The decisive line, one of each other symptom, what their codes mean, and the last sign of life before it."""
    lines = {_place(seen): seen for seen in _quoted(_each_once(finding.events, picture), picture, lang, EVIDENCE_SHOWN)}
    progress = picture.last_progress() if with_progress else None
    if progress:
        seen = replace(progress.evidence, why=LAST_PROGRESS.get(lang, LAST_PROGRESS["en"]))
        lines.setdefault(_place(seen), seen)
    return tuple(lines.values())


def _quoted(events: Iterable[Event], picture: Picture, lang: str, most: int) -> tuple[Evidence, ...]:
    """The lines of ``events``, each once."""
    lines: dict[tuple[str, int], Evidence] = {}
    for event in events:
        if len(lines) < most:
            seen = picture.evidence(_with_its_sentence(event), explain_codes(event, lang))
            lines.setdefault(_place(seen), seen)
    return tuple(lines.values())


def _each_once(events: Iterable[Event], picture: Picture) -> Iterator[Event]:
    """Of what one speaker repeats word by word the first line is enough; of lines of one shape the first few are."""
    told, shapes = set[_Said](), Counter[_Said]()
    for event in events:
        who = picture.places.rank_of(event), picture.places.host_of(event)
        text = event.line.text if event.lines else event.text
        shape = who, _NUMBER.sub("#", text)
        if (who, text) not in told and shapes[shape] < ALIKE_SHOWN:
            told.add((who, text))
            shapes[shape] += 1
            yield event


def _place(seen: Evidence) -> tuple[str, int]:
    return seen.line.file, seen.line.number


def _with_its_sentence(event: Event) -> Event:
    """``event``, its line with those in which the sentence goes on that it begins: MPI wraps what it has to say."""
    said = event.line
    for line in event.lines:
        if not said.number < line.number <= event.line.number + SENTENCE_LINES:
            continue
        if not (said.text[-1:].isalnum() and line.text[:1].islower()):
            break
        said = Line(said.file, line.number, f"{said.text} {line.text}")
    return event if said is event.line else replace(event, line=replace(event.line, text=said.text))


def symptoms_of(ranked: Ranked, picture: Picture, lang: str) -> tuple[SymptomSeen, ...]:
    """What was seen and is not the cause, in the order of the log."""
    rows = sorted(ranked.explained, key=lambda pair: pair[0].first)
    rest = [(f, None) for f in ranked.causes[CAUSES_SHOWN:]]
    return tuple(
        SymptomSeen(
            signature=f.rule.signature,
            title=fill(f.rule.say(lang).title, Told(f, lang, by)),
            explained_by=by.rule.signature if by else None,
            ranks=f.ranks,
            count=f.count,
            evidence=_quoted(f.events, picture, lang, SYMPTOM_EVIDENCE),
        )
        for f, by in (*rows, *rest)
    )

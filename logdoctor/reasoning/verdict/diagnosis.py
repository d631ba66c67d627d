"""Turns ranked findings into the causes and symptoms of a diagnosis, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from logdoctor.codes import explain_codes
from logdoctor.model import Cause, Evidence, Finding, Line, Record, SymptomSeen
from logdoctor.pack.regexes import later
from logdoctor.reasoning.causality import confidence
from logdoctor.reasoning.causality.ranking import Ranked
from logdoctor.reasoning.findings.wording import Told, fill, fill_words
from logdoctor.reasoning.job_state import JobState

_Said = tuple[tuple[int | None, str | None], str]
_NUMBER = later(r"\b(?:0x)?[a-f]*+\d[0-9a-f]*+\b")
CAUSES_SHOWN = 3
EVIDENCE_SHOWN, SYMPTOM_EVIDENCE = 6, 3
ALIKE_SHOWN = 3
"""So many lines of one source that differ in their numbers only prove as much as more of them."""
SENTENCE_LINES = 2
"""A sentence goes on in so many lines."""
PREFERRED = {
    "en": " Nothing in these logs decides between this and '{other}'; the classifier finds this one more likely.",
    "zh": "这些日志无法区分它与“{other}”;分类器认为它的可能性更大。",
}

LAST_PROGRESS = {"en": "last sign of progress", "zh": "最后进度"}


def causes_of(ranked: Ranked, unexplained: Sequence[Record], state: JobState, lang: str) -> tuple[Cause, ...]:
    """The answer first, then what else could be meant or went wrong independently; each the less sure."""
    shown = ranked.causes[:CAUSES_SHOWN]
    chances = [confidence.chance(confidence.facts(f, ranked, unexplained)) for f in shown]
    return tuple(_cause(f, chances[i] / (i + 1), ranked, state, lang) for i, f in enumerate(shown))


def _cause(finding: Finding, sure: float, ranked: Ranked, state: JobState, lang: str) -> Cause:
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
        evidence=_evidence(finding, state, lang, with_progress=finding is ranked.causes[0]),
        explains=tuple(dict.fromkeys(explained)),
        rule=rule.id,
    )


def _evidence(finding: Finding, state: JobState, lang: str, *, with_progress: bool) -> tuple[Evidence, ...]:
    """The decisive line, one of each other symptom, what their codes mean, and the last sign of life before it."""
    lines = {_place(seen): seen for seen in _quoted(_each_once(finding.records, state), state, lang, EVIDENCE_SHOWN)}
    progress = state.last_progress() if with_progress else None
    if progress:
        seen = replace(progress.evidence, why=LAST_PROGRESS.get(lang, LAST_PROGRESS["en"]))
        lines.setdefault(_place(seen), seen)
    return tuple(lines.values())


def _quoted(records: Iterable[Record], state: JobState, lang: str, most: int) -> tuple[Evidence, ...]:
    """The lines of ``events``, each once."""
    lines: dict[tuple[str, int], Evidence] = {}
    for record in records:
        if len(lines) < most:
            seen = state.evidence(_with_its_sentence(record), explain_codes(record, lang))
            lines.setdefault(_place(seen), seen)
    return tuple(lines.values())


def _each_once(records: Iterable[Record], state: JobState) -> Iterator[Record]:
    """Of what one source repeats word by word the first line is enough; of lines of one shape the first few are."""
    told, shapes = set[_Said](), Counter[_Said]()
    for record in records:
        who = state.places.rank_of(record), state.places.host_of(record)
        text = record.line.text if record.lines else record.text
        shape = who, _NUMBER.sub("#", text)
        if (who, text) not in told and shapes[shape] < ALIKE_SHOWN:
            told.add((who, text))
            shapes[shape] += 1
            yield record


def _place(seen: Evidence) -> tuple[str, int]:
    return seen.line.file, seen.line.number


def _with_its_sentence(record: Record) -> Record:
    """``event``, its line with those in which the sentence goes on that it begins: MPI wraps what it has to say."""
    said = record.line
    for line in record.lines:
        if not said.number < line.number <= record.line.number + SENTENCE_LINES:
            continue
        if not (said.text[-1:].isalnum() and line.text[:1].islower()):
            break
        said = Line(said.file, line.number, f"{said.text} {line.text}")
    return record if said is record.line else replace(record, line=replace(record.line, text=said.text))


def symptoms_of(ranked: Ranked, state: JobState, lang: str) -> tuple[SymptomSeen, ...]:
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
            evidence=_quoted(f.records, state, lang, SYMPTOM_EVIDENCE),
        )
        for f, by in (*rows, *rest)
    )

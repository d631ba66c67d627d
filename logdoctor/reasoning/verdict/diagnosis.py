"""Causes and symptoms of a diagnosis, with words and evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from logdoctor.codes import explain_codes
from logdoctor.model import (
    MEASURED,
    Cause,
    Check,
    Culprit,
    Evidence,
    Examination,
    Examinations,
    Finding,
    Line,
    Owner,
    Record,
    Refutation,
    SymptomSeen,
)
from logdoctor.model.catalogue import Catalogue
from logdoctor.model.log import Scalar
from logdoctor.pack.version_ranges import package_key
from logdoctor.reasoning.causality import confidence
from logdoctor.reasoning.causality.arrows import Why
from logdoctor.reasoning.causality.claims import Checked
from logdoctor.reasoning.causality.roots import Explained, Ranking
from logdoctor.reasoning.findings.reason_line import quoted, with_whole_sentence
from logdoctor.reasoning.findings.values import FindingValues
from logdoctor.reasoning.findings.who import seated, victims_of, with_seats
from logdoctor.reasoning.findings.wording import (
    Circumstances,
    choose_steps,
    fill_step,
    fill_title,
    fill_words,
    is_specific,
    mask_numbers,
    tells_values,
)
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.ends import end_of
from logdoctor.reasoning.verdict.fitting_steps import fitting_steps
from logdoctor.reasoning.verdict.owner import owner_of, with_frame

_Position = tuple[str, int, str]
_SourceText = tuple[tuple[int | None, str | None], str]
"""Rank and host, and the text that they printed."""
OF_ENDS = ("ended", "uncaught", "others", "peer")
"""Claims whose line tells how a process ended."""
MAX_CAUSES = 3
DOUBTED = 0.2
"""Highest confidence of an answer that a line contradicts.  So many of them are right at most."""
MAX_EVIDENCE, MAX_SYMPTOM_EVIDENCE = 6, 3
ALARMING = ("fatal", "error", "warning")
"""Levels of lines that look like a failure."""
MAX_ALIKE = 3
"""Number of quoted lines of one source that differ only in their numbers."""


def build_causes(
    ranking: Ranking, unexplained: Sequence[Record], state: JobState, words: Catalogue, examined: Examinations
) -> tuple[Cause, ...]:
    """Return the answer, then other causes with less confidence."""
    findings = ranking.causes[:MAX_CAUSES]
    causes = (_cause(f, ranking, unexplained, state, words, examined) for f in findings)
    return tuple(
        replace(cause, confidence=round(cause.confidence / place, 2)) for place, cause in enumerate(causes, start=1)
    )


def _cause(
    finding: Finding,
    ranking: Ranking,
    unexplained: Sequence[Record],
    state: JobState,
    words: Catalogue,
    examinations: Examinations,
) -> Cause:
    rule, proof = finding.rule, finding.records[0].line
    examined = examinations.get((proof.file, proof.number))
    checks = ranking.checked.get(rule.id, ())
    confirmed = [check.claim.name for check in checks if check.holds == "confirmed"]
    explained = [e.finding for e in ranking.explained if e.by is finding]
    slots = FindingValues(finding, words.lang, state, confirmed=confirmed, examined=examined)
    texts = fill_words(rule.say(words.lang), slots, _circumstances(finding, state))
    doubt = ranking.doubt(finding)
    values = _measured_values(finding)
    owner = owner_of(finding, dict(values), words, examined)
    but = words(f"claim.no.{doubt.claim.name}") if doubt else ""
    told = _told(finding, owner, slots, state, examined)
    chance = confidence.chance(confidence.collect_doubts(finding, ranking, unexplained, told))
    culprit = Culprit() if doubt else with_seats(finding.culprit, rule, state)
    return Cause(
        signature=rule.signature,
        title=words("cause.doubted", title=texts.title, but=but) if doubt else texts.title,
        summary=texts.cause,
        confidence=min(chance, DOUBTED) if doubt else chance,
        by="rule",
        culprit=replace(culprit, first=seated(culprit.first, state)),
        place=with_seats(finding.place, rule, state),
        action=rule.action,
        steps=fitting_steps(with_frame(texts.steps, owner, rule, words), state, words),
        references=rule.references,
        evidence=_evidence(finding, state, words, with_progress=finding is ranking.causes[0]),
        explains=tuple(dict.fromkeys(f.rule.signature for f in explained)),
        rule=rule.id,
        rule_origin=rule.path,
        owner=owner,
        values=values,
        checked=tuple(_check(c, finding, state, words) for c in checks),
        victims=len(victims_of(finding, explained).difference(culprit.ranks)),
    )


def _circumstances(finding: Finding, state: JobState) -> Circumstances:
    versions = {package_key(product): version for product, version in state.versions_of_run}
    said = "\n".join(record.text for record in finding.records).casefold()
    return Circumstances(state.tools, tuple(state.environment), versions, said)


def _told(
    finding: Finding, owner: Owner, values: FindingValues, state: JobState, examined: Examination | None
) -> confidence.Told:
    """Return the parts of an answer that bear on its confidence. They are the same in each language."""
    english = finding.rule.say("en")
    steps = choose_steps(english.remedy, values, _circumstances(finding, state))
    culprit, place = finding.culprit, finding.place
    named = culprit.ranks or culprit.hosts or place.ranks or place.hosts
    facts = [fact for fact in examined.facts if is_specific(fact.said)] if examined else []
    return confidence.Told(
        owner=owner.who,
        first_step=steps[0].do[0] if steps else "",
        of_job=bool(named or facts) or tells_values(english, values),
    )


def _measured_values(finding: Finding) -> tuple[tuple[str, Scalar], ...]:
    values = ((name, finding.values.get(name)) for name in MEASURED)
    return tuple((name, value) for name, value in values if isinstance(value, str | int | float) and value != "")


def _check(checked: Checked, finding: Finding, state: JobState, words: Catalogue) -> Check:
    """Return the outcome of a claim, in words where the line tells a signal, an exit code or an exception."""
    if checked.record is None:
        return Check(checked.claim.name, checked.holds)
    end = end_of(checked.record)
    told = {"signal": end.signal, "exception": end.exception, "code": end.code}
    how = next((name for name, value in told.items() if value not in (None, "")), "")
    why = words(f"claim.by.{how}", value=told[how]) if how and checked.claim.name in OF_ENDS else ""
    pairs = zip(finding.records, quoted(finding), strict=True)
    shown = next((line for record, line in pairs if record is checked.record), checked.record)
    return Check(checked.claim.name, checked.holds, (state.evidence(shown, why),))


def _evidence(finding: Finding, state: JobState, words: Catalogue, *, with_progress: bool) -> tuple[Evidence, ...]:
    """Return the lines of the symptoms and the last progress. The decisive line comes first."""
    lines = {_position(e): e for e in _quote(_without_repeats(quoted(finding), state), state, words, MAX_EVIDENCE)}
    progress = state.last_progress() if with_progress else None
    if progress:
        evidence = replace(progress.evidence, why=words("why.progress"))
        lines.setdefault(_position(evidence), evidence)
    return tuple(lines.values())


def _quote(records: Iterable[Record], state: JobState, words: Catalogue, limit: int) -> tuple[Evidence, ...]:
    """Return each line once, with the meaning of its codes."""
    lines: dict[_Position, Evidence] = {}
    for record in records:
        if len(lines) < limit:
            evidence = state.evidence(with_whole_sentence(record), explain_codes(record, words.lang))
            lines.setdefault(_position(evidence), evidence)
            if frame := _frame_line(record):
                lines.setdefault(_place(frame), state.evidence(replace(record, line=frame)))
    return tuple(lines.values())


def _frame_line(record: Record) -> Line | None:
    """Return the line of the traceback that names the user's own frame, else the innermost one."""
    frame = record.fields.get("own_frame") or record.fields.get("where") or ""
    file, _, number = str(frame).partition(" ")[0].rpartition(":")
    place = f'{file}", line {number}'
    return next((line for line in record.lines if file and place in line.text), None)


def _without_repeats(records: Iterable[Record], state: JobState) -> Iterator[Record]:
    """Yield records without repeated texts of one source.

    Of texts that differ only in their numbers, a few are enough.
    """
    texts, shapes = set[_SourceText](), Counter[_SourceText]()
    for record in records:
        source = state.processes.rank_of(record), state.processes.host_of(record)
        text = record.line.text if record.lines else record.text
        shape = source, mask_numbers(text)
        if (source, text) not in texts and shapes[shape] < MAX_ALIKE:
            texts.add((source, text))
            shapes[shape] += 1
            yield record


def _position(evidence: Evidence) -> _Position:
    return _place(evidence.line)


def _place(line: Line) -> _Position:
    return line.file, line.number, line.field


def build_symptoms(ranking: Ranking, state: JobState, words: Catalogue) -> tuple[SymptomSeen, ...]:
    """Return the findings that are no listed causes. They are in log order."""
    rows = sorted(ranking.explained, key=lambda e: e.finding.first)
    rest = [Explained(f) for f in ranking.causes[MAX_CAUSES:]]
    return tuple(_seen(e, MAX_SYMPTOM_EVIDENCE, state, words) for e in (*rows, *rest))


def build_harmless(findings: Iterable[Finding], state: JobState, words: Catalogue) -> tuple[SymptomSeen, ...]:
    """Return the findings of benign rules on lines that look like a failure, in log order."""
    rows = {f.rule.id: f for f in findings if any(record.level in ALARMING for record in f.records)}
    return tuple(_seen(Explained(f), 1, state, words) for f in sorted(rows.values(), key=lambda f: f.first))


def _seen(symptom: Explained, most: int, state: JobState, words: Catalogue) -> SymptomSeen:
    """Return a symptom with ``most`` of its lines at most."""
    finding, by, why = symptom.finding, symptom.by, symptom.why
    values = FindingValues(finding, words.lang, state, explained_by=by)
    steps = choose_steps(finding.rule.say(words.lang).remedy, values, _circumstances(finding, state))
    fell_back = symptom.refuted is not None and symptom.refuted.why == "fell back"
    silence = next((step for step in steps if step.silences), steps[0] if fell_back and steps else None)
    return SymptomSeen(
        signature=finding.rule.signature,
        title=fill_title(finding.rule.say(words.lang).title, values),
        explained_by=by.rule.signature if by else None,
        ranks=finding.ranks,
        count=finding.count,
        evidence=_quote(quoted(finding), state, words, most),
        refuted_by=_refutation(symptom, words),
        rule=finding.rule.id,
        law=why.law if why else "",
        way=_way(why) if why else "",
        silence=fill_step(silence, values).text if silence else "",
    )


def _refutation(symptom: Explained, words: Catalogue) -> Refutation | None:
    refuted = symptom.refuted
    if refuted is None:
        return None
    return Refutation(refuted.by.line, words(f"refuted.{refuted.why.replace(' ', '-')}", steps=refuted.steps))


def _way(why: Why) -> str:
    return f"{why.row.source} → {why.row.target}" if why.row else why.reason

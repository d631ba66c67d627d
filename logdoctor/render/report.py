"""The report of a diagnosis for people. Every format for people lays out the same `Report`.

`report` turns a `Diagnosis` into escaped sentences, in the order in which they are read. It names ranks and hosts,
groups equal rows and counts them. It decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from logdoctor.model import (
    CALM,
    Cause,
    Check,
    Coverage,
    Culprit,
    Diagnosis,
    Evidence,
    HostClock,
    JobSummary,
    Owner,
    Problem,
    Progress,
    Run,
    Suspect,
    SymptomSeen,
)
from logdoctor.model.escape import escape_all
from logdoctor.model.numbers import numbers_in
from logdoctor.model.times import iso_time
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.entity_names import culprit_name, host_names, ranges, rank_count, rank_names, suspect_name
from logdoctor.render.job_facts import differing_versions
from logdoctor.render.rank_table import RankLine, rank_lines

MARKS = {"failed": "✗", "stopped": "■", "finished": "✓"}
NOT_JUDGED = "?"
MOST_CLOCKS = 2
MOST_SURVIVED_FAILURES = 3
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


class RenderOptions(Struct, frozen=True):
    """Options of `logdoctor.render.render`. All except ``words`` are for the terminal."""

    words: Catalogue
    color: bool = False
    width: int = 100
    quiet: bool = False
    elapsed: float | None = None
    full: bool = False
    """Show all victims, ranks and proofs, whatever the length."""


class Proof(Struct, frozen=True):
    """A log line that supports an answer.

    ``location`` is ``file:line``. ``why`` says why the line matters, and is "" if that is plain. ``around`` holds the
    numbered lines above and below with the line itself, if the format asked for them.
    """

    location: str
    text: str
    why: str
    number: int = 0
    around: tuple[tuple[int, str], ...] = ()


class Answer(Struct, frozen=True):
    """A cause in words.

    ``culprit`` is "" if none is known, ``owner`` if nobody is known who has to change something. ``action`` is the key
    (``exclude``), ``action_text`` says what to do. ``confidence`` is from 0 to 1, ``confidence_text`` the same in
    words. ``rule`` is the id of the rule. ``checks`` tells which claims are confirmed or contradicted.
    """

    signature: str
    title: str
    confidence_text: str
    summary: str
    proofs: tuple[Proof, ...]
    action_text: str
    remedies: tuple[str, ...]
    references: tuple[str, ...]
    culprit: str
    owner: str
    action: str
    confidence: float
    rule: str
    checks: tuple[str, ...] = ()


class Fallout(Struct, frozen=True):
    """All symptoms of one signature in one row. ``affected`` is a rank, a number of ranks, or a number of lines."""

    affected: str
    signature: str
    description: str
    location: str
    explained_by: str | None = None


class Report(Struct, frozen=True):
    """All texts of a report. Parts without content are empty.

    ``headline`` can stand alone, while ``sentence`` needs the verdict beside it. ``other_faults`` are independent
    faults beside the answer. ``alternatives`` are less likely answers. ``gaps`` says what the logs lack.
    ``mark`` stands before the headline. ``do`` is the decision with its reason. ``coverage`` says how much was read.
    """

    verdict: str
    mark: str
    calm: bool
    name: str
    headline: str
    sentence: str
    answer: Answer | None
    other_faults: tuple[Answer, ...]
    alternatives: tuple[Answer, ...]
    unexplained: tuple[Proof, ...]
    suspects: tuple[str, ...]
    gaps: tuple[str, ...]
    do: str
    collect: tuple[str, ...]
    fallout: tuple[Fallout, ...]
    symptoms: tuple[Fallout, ...]
    ranks: tuple[RankLine, ...]
    runs: tuple[str, ...]
    job: str
    progress: str
    coverage: str
    problems: tuple[Problem, ...]


def report(diagnosis: Diagnosis, words: Catalogue) -> Report:
    """Return the report of ``diagnosis`` in the language of ``words``. All texts are escaped."""
    diagnosis = escape_all(diagnosis, tab=" ")
    main = diagnosis.causes[:1] if diagnosis.answer else ()
    others = tuple(cause for cause in diagnosis.causes[1:] if main and _is_independent(cause, main[0]))
    alternatives = tuple(cause for cause in diagnosis.causes if cause not in main and cause not in others)
    job, decision = diagnosis.job, diagnosis.decision
    answer = _answer(main[0], _do(diagnosis, words), words) if main else None
    file = main[0].evidence[0].line.file if main and main[0].evidence else ""
    proof = frozenset(proof.location for proof in answer.proofs) if answer else frozenset()
    rows = _Rows(words, file, bool(others), answer.signature if answer else "", proof)
    sentence = answer.title if answer else _sentence_without_cause(diagnosis, words)
    return Report(
        verdict=diagnosis.verdict,
        mark=MARKS.get(diagnosis.verdict, NOT_JUDGED),
        calm=diagnosis.verdict in CALM,
        name=diagnosis.name,
        headline=f"{answer.signature if answer else diagnosis.verdict} — {sentence}{_apart(diagnosis, words)}",
        sentence=sentence,
        answer=answer,
        other_faults=tuple(_answer(cause, words(f"do.{cause.action}"), words) for cause in others),
        alternatives=tuple(_answer(cause, words(f"do.{cause.action}"), words) for cause in alternatives),
        unexplained=proofs((*diagnosis.unexplained, *(novel.evidence for novel in diagnosis.novel))),
        suspects=tuple(_suspect(suspect, words) for suspect in diagnosis.suspects),
        gaps=tuple(_gaps(diagnosis, words)) if diagnosis.verdict == "unknown" else (),
        do=_do(diagnosis, words),
        collect=decision.collect,
        fallout=rows.of(symptom for symptom in diagnosis.symptoms if symptom.explained_by is not None),
        symptoms=rows.of(symptom for symptom in diagnosis.symptoms if symptom.explained_by is None),
        ranks=rank_lines(job.rank_table, words, file),
        runs=tuple(_runs(diagnosis.runs, words)),
        job=_job(diagnosis.name, job, words),
        progress=_progress(job.last_progress, words) if job.last_progress else "",
        coverage=_coverage(diagnosis.coverage, words),
        problems=diagnosis.problems,
    )


# ── the answer ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_independent(cause: Cause, answer: Cause) -> bool:
    """Return True for a second fault, and False for an alternative.

    The confidences of alternatives add up to 1 at most.
    """
    return cause.confidence >= 0.5 and cause.confidence + answer.confidence > 1.05


def _sentence_without_cause(diagnosis: Diagnosis, words: Catalogue) -> str:
    verdict, last = diagnosis.verdict, diagnosis.job.last_progress
    if verdict != "no-end-seen" and _tells_reason(diagnosis):
        return _headline(diagnosis.decision.because) or words("unknown")
    if verdict == "unknown":
        title = next((symptom.title for symptom in diagnosis.symptoms if symptom.title), "")
        return words("unknown.but", title=title) if title else words("unknown")
    survived = [words("outlived", failures=_survived_failures(diagnosis.symptoms, words))] if diagnosis.symptoms else []
    if verdict == "finished":
        progress = [words("finished.progress", progress=_value(last, words))] if last else []
        known_by = diagnosis.verdict_known_by
        end = words("finished.at", where=f"{known_by.file}:{known_by.number}") if known_by else words("finished")
        return words("and").join([words("joint").join([end, *progress]), *survived])
    end = _value(last, words) if last else ""
    told = words("end.step", progress=end, where=location(last.evidence)) if last else words("end.started")
    return words("and").join([told, *survived])


def _apart(diagnosis: Diagnosis, words: Catalogue) -> str:
    """Return the suspects as the end of a headline."""
    names = words("joint").join(suspect_name(suspect, words) for suspect in diagnosis.suspects)
    return words("joint") + words("suspect.short", who=names) if names else ""


def _do(diagnosis: Diagnosis, words: Catalogue) -> str:
    """Return the decision with its reason, unless the headline is the reason."""
    decision = diagnosis.decision
    reason = "" if _tells_reason(diagnosis) else decision.because
    return words("sentence.joint").join(part for part in (decision.sentence, reason) if part)


def _tells_reason(diagnosis: Diagnosis) -> bool:
    """Return whether the headline is the reason of the decision."""
    verdict = diagnosis.verdict
    return verdict in ("no-end-seen", "nothing-to-judge") or (verdict == "unknown" and not diagnosis.unexplained)


def _headline(sentence: str) -> str:
    """Return a sentence as it stands behind a colon or a dash."""
    return f"{sentence[:1].lower()}{sentence[1:]}".rstrip(".。")


def _survived_failures(symptoms: Sequence[SymptomSeen], words: Catalogue) -> str:
    """Name a few failures that did not stop the job, with locations."""
    first = [symptom for symptom in symptoms[:MOST_SURVIVED_FAILURES] if symptom.evidence]
    texts = [f"{symptom.title} ({location(symptom.evidence[0])})" for symptom in first]
    left = len(symptoms) - len(texts)
    return "; ".join([*texts, words("more", n=left)] if left else texts)


def _answer(cause: Cause, doing: str, words: Catalogue) -> Answer:
    culprit = culprit_name(cause.culprit, words)
    mentioned = not culprit or _mentions(cause.title, cause.culprit)
    return Answer(
        signature=cause.signature,
        title=cause.title if mentioned else words("named", title=cause.title, who=culprit),
        confidence_text=f"{words('confidence', value=f'{cause.confidence:.2f}')} · {words(f'by.{cause.by}')}",
        summary=cause.summary,
        proofs=proofs(cause.evidence),
        action_text=doing,
        remedies=tuple(step.text for step in cause.steps),
        references=cause.references,
        culprit=culprit,
        owner=_owner(cause.owner, words),
        action=cause.action,
        confidence=min(max(cause.confidence, 0.0), 1.0),
        rule=cause.rule,
        checks=tuple(_checked(check, words) for check in cause.checked if check.holds != "not-shown"),
    )


def _owner(owner: Owner, words: Catalogue) -> str:
    """Return who has to change something, with the frame: "your code, train.py:88"."""
    who = words(f"owner.who.{owner.who}") if owner.who != "not-told" else ""
    return words("joint").join(part for part in (who, owner.frame) if part)


def _suspect(suspect: Suspect, words: Catalogue) -> str:
    """Return "rank 5 on gpu-a02, pid 30517 (confidence 0.80): why · job.log:9"."""
    name = suspect_name(suspect, words)
    where = location(suspect.evidence[0]) if suspect.evidence else ""
    told = words(
        "suspect", who=name, confidence=words("confidence", value=f"{suspect.confidence:.2f}"), why=suspect.why
    )
    return " · ".join(part for part in (told, where) if part)


def _checked(check: Check, words: Catalogue) -> str:
    """Return a line such as ``confirmed: the process ended in this way (signal 9), job.log:812``."""
    what = words(f"claim.{'no' if check.holds == 'contradicted' else 'yes'}.{check.claim}")
    proof = next(iter(check.evidence), None)
    how = words("claim.how", how=proof.why) if proof and proof.why else ""
    where = words("claim.at", where=location(proof)) if proof else ""
    return words(f"claim.{check.holds}", what=what, how=how, where=where)


def _mentions(title: str, culprit: Culprit) -> bool:
    numbers = set(numbers_in(title))
    names = (*culprit.hosts, *culprit.gpus, *culprit.peers)
    return any(name in title for name in names) or any(rank in numbers for rank in culprit.ranks)


def proofs(evidence: Iterable[Evidence]) -> tuple[Proof, ...]:
    """Return log lines with their locations. A repeated ``why`` is left out after its first line."""
    whys: set[str] = set()
    return tuple(_proof(line, whys) for line in evidence)


def _proof(evidence: Evidence, whys: set[str]) -> Proof:
    around = tuple((line.number, line.text.rstrip()) for line in evidence.around)
    why = "" if evidence.why in whys else evidence.why
    whys.add(why)
    return Proof(location(evidence), evidence.line.text.strip(), why, evidence.line.number, around)


def location(evidence: Evidence) -> str:
    """Return ``file:line``, which editors and terminals can open."""
    return f"{evidence.line.file}:{evidence.line.number}"


def is_link(reference: str) -> bool:
    """Return True for a plain web address. Formats make it a link."""
    return re.fullmatch(r"https?://[A-Za-z0-9./?=&%#:~_+,;-]+", reference) is not None


# ── fallout ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Rows(Struct, frozen=True):
    """Rows of symptoms.

    Locations in ``file`` are written without its name. ``reasons`` adds the explaining signature to each row.
    ``answer`` is the signature of the answer, ``proof`` are the locations of its proof.
    """

    words: Catalogue
    file: str
    reasons: bool
    answer: str
    proof: frozenset[str]

    def of(self, symptoms: Iterable[SymptomSeen]) -> tuple[Fallout, ...]:
        """Return one row per signature and explanation, in the order of ``symptoms``."""
        groups: dict[tuple[str, str | None], list[SymptomSeen]] = {}
        for symptom in symptoms:
            if symptom.signature == self.answer and all(location(line) in self.proof for line in symptom.evidence):
                continue  # repeats the answer
            groups.setdefault((symptom.signature, symptom.explained_by), []).append(symptom)
        return tuple(self._row(group) for group in groups.values())

    def _row(self, group: list[SymptomSeen]) -> Fallout:
        words, first = self.words, group[0]
        ranks = sorted({rank for symptom in group for rank in symptom.ranks})
        lines = words.count("line", sum(symptom.count for symptom in group))
        description = first.title
        if len(ranks) > 1:
            description = words("named", title=description, who=words("rank.n", ranks=ranges(ranks)))
        if self.reasons and first.explained_by:
            description += words("joint") + words("because", signature=first.explained_by)
        if self.reasons and first.refuted_by:
            description += words("joint") + first.refuted_by.why
        affected = words.count("rankcount", len(ranks)) if len(ranks) > 1 else rank_names(ranks, words) or lines
        where = self._location([line for symptom in group for line in symptom.evidence])
        return Fallout(affected, first.signature, description, where, first.explained_by)

    def _location(self, evidence: Sequence[Evidence]) -> str:
        """Return the span of ``evidence`` in its first file: ``job.log:7 … :90``.

        If there are other files, the text is ``job.log:7 …``.
        """
        if not evidence:
            return ""
        first = min(evidence, key=lambda proof: (proof.line.file != evidence[0].line.file, proof.line.number))
        last = max(proof.line.number for proof in evidence if proof.line.file == first.line.file)
        start = location(first).removeprefix(self.file) if self.file == first.line.file else location(first)
        if any(proof.line.file != first.line.file for proof in evidence):
            return f"{start} …"
        return start if last == first.line.number else f"{start} … :{last}"


# ── the job, what was read, what is missing ─────────────────────────────────────────────────────────────────────────


def _job(name: str, job: JobSummary, words: Catalogue) -> str:
    differing = {product for product, _, _ in job.versions_apart}
    versions = (f"{product} {version}" for product, version in job.versions if product not in differing)
    parts = [name, _ranks_and_hosts(job, words), *versions, *differing_versions(job, words)]
    parts += [job.launcher or "", words.count("attempt", job.attempts), *_clocks(job.clocks, words)]
    parts += [words("cut")] if job.truncated else []
    return " · ".join(part for part in parts if part)


def _clocks(clocks: Sequence[HostClock], words: Catalogue) -> Iterable[str]:
    """Yield texts on the largest clock differences. Each names the host that is ahead first."""
    for clock in sorted(clocks, key=lambda clock: -abs(clock.ahead))[:MOST_CLOCKS]:
        host, of = (clock.host, clock.of) if clock.ahead > 0 else (clock.of, clock.host)
        count = words.count("clock.event", clock.records)
        yield words("clock.ahead", host=host, of=of, seconds=f"{abs(clock.ahead):,.0f}", events=count)
    if len(clocks) > MOST_CLOCKS:
        yield words("clock.more", n=len(clocks) - MOST_CLOCKS)


def _runs(runs: Sequence[Run], words: Catalogue) -> Iterable[str]:
    """Return one line for each other run of the log. Equal runs in a row share a line: "Runs 1-2 of 5: cuda.oom"."""
    of = len(runs)
    for (outcome, file), group in groupby(enumerate(runs, 1), lambda pair: (_outcome(pair[1], words), pair[1].file)):
        equal = list(group)
        (first, start), (last, end) = equal[0], equal[-1]
        if outcome:
            single = words("run", n=first, of=of)
            label = single if first == last else words("run.n", first=first, last=last, of=of)
            yield f"{label}{words('colon')}{outcome} · {file}:{start.first_line}-{end.last_line or ''}"


def _outcome(run: Run, words: Catalogue) -> str:
    """Return the outcome of ``run``, or "" for the reported run."""
    if run.told:
        return ""
    return f"{run.signature} — {run.title}" if run.signature else words(f"run.{run.verdict}")


def _ranks_and_hosts(job: JobSummary, words: Catalogue) -> str:
    hosts, ranks = host_names(job.hosts, words), rank_count(job, words)
    if not ranks:
        return hosts
    return words("job.on", ranks=ranks, hosts=hosts) if hosts else ranks


def _value(progress: Progress, words: Catalogue) -> str:
    return words("progress.last", unit=progress.unit, value=progress.value).strip()


def _progress(progress: Progress, words: Catalogue) -> str:
    """Return a text like "step 41 · rank 3 · job.log:7"."""
    line = progress.evidence
    time = iso_time(line.time)
    rank = words("rank.1", ranks=line.rank) if line.rank is not None else ""
    parts = (_value(progress, words), rank, line.host or "", time.replace("T", " ") if time else "", location(line))
    return " · ".join(part for part in parts if part)


def _coverage(coverage: Coverage, words: Catalogue) -> str:
    size = words("read.size", size=_size(coverage.bytes), lines=words.count("line", coverage.lines))
    return f"{words.count('file', coverage.files)}{words('joint')}{size}" if coverage.files != 1 else size


def _size(number: int) -> str:
    """Return bytes in decimal units: 118 MB, 4.2 kB."""
    value, unit = float(number), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    digits = 1 if unit and value < 99.95 else 0
    return f"{value:.{digits}f} {_UNITS[unit]}"


def _gaps(diagnosis: Diagnosis, words: Catalogue) -> Iterable[str]:
    yield words("missing.cause" if diagnosis.unexplained else "missing.cause.bare")
    job = diagnosis.job
    number = len(job.ranks_seen)
    if job.ranks_expected and 0 < number < job.ranks_expected:
        yield words("missing.ranks", seen=f"{number:,}", expected=f"{job.ranks_expected:,}")
    if job.truncated:
        yield words("missing.cut")
    if diagnosis.problems:
        yield words("missing.unread")

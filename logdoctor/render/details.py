"""Sections of a document that the first screen leaves out: other faults, fallout, ranks, runs, the job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import (
    CALM,
    Cause,
    Check,
    Diagnosis,
    Evidence,
    JobSummary,
    NotJudged,
    Owner,
    Problem,
    Run,
    Step,
    SymptomSeen,
)
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.document import Block, LogLine, Row, Section, Task
from logdoctor.render.entity_names import host_names, location_name, ranges, rank_count, rank_names
from logdoctor.render.job_facts import job_facts
from logdoctor.render.phrases import location
from logdoctor.render.rank_table import RankLine, rank_lines

MOST_PROBLEMS = 12


def sections(diagnosis: Diagnosis, words: Catalogue) -> Iterator[Section]:
    """Yield the details, in the order in which they are read."""
    cause, calm = diagnosis.answer, diagnosis.verdict in CALM
    file = cause.evidence[0].line.file if cause and cause.evidence else ""
    others = diagnosis.further_faults
    if cause:
        culprit, place = (location_name(named, words) for named in (cause.culprit, cause.place))
        if cause.culprit.scope in ("one", "some") and culprit and place and culprit != place:
            yield _detail("culprit", words, (culprit,))
            yield _detail("place", words, (place,))
        yield _detail("owner", words, _owner(cause.owner, words))
        yield _detail("checked", words, checks(cause, words, "confirmed", "contradicted"))
        yield _detail("references", words, cause.references)
    for other in others:
        yield Section("fault", words("fault", signature=other.signature), tuple(_fault(other, words)), detail=True)
    if calm and diagnosis.novel:  # the user asked what a good run did not print
        yield Section("seen.new", words("seen.new"), tuple(log_line(novel.evidence) for novel in diagnosis.novel))
    if not calm:
        seen = alternatives(diagnosis) if cause else diagnosis.causes
        yield _detail("instead", words, (block for guess in seen for block in _guess(guess, words)))
        if cause:
            new = (novel.evidence for novel in diagnosis.novel)
            yield _detail("seen.beside", words, map(log_line, (*diagnosis.unexplained, *new)))
        else:
            yield _detail("seen.new", words, (log_line(novel.evidence) for novel in diagnosis.novel))
        rows = _Rows(words, file, bool(others), cause)
        explained = [symptom for symptom in diagnosis.symptoms if symptom.explained_by is not None]
        yield _detail("fallout", words, rows.of(explained))
        yield _detail("symptoms", words, rows.of(s for s in diagnosis.symptoms if s.explained_by is None))
        yield _detail("harmless", words, harmless(diagnosis, words))
        yield _detail("ranks", words, map(_rank_row, rank_lines(diagnosis.job.rank_table, words, file)))
    yield _detail("set-aside", words, set_aside(diagnosis.coverage.not_judged, words))
    yield _detail("runs", words, _runs(diagnosis.runs, words))
    yield _detail("job", words, _job(diagnosis, words))


def set_aside(lines: Iterable[NotJudged], words: Catalogue) -> Iterator[str]:
    """Yield the lines that are no evidence for this job, with the reason: "kern.log:3-90: more than 2 days before"."""
    for entry in lines:
        place = f"{entry.file}:{entry.first_line}" + (f"-{entry.last_line}" if entry.records > 1 else "")
        yield words("set-aside.line", place=place, what=entry.what, why=entry.why)


def harmless(diagnosis: Diagnosis, words: Catalogue) -> Iterator[LogLine]:
    """Yield the lines that are known to be harmless, each with the reason and how to silence it."""
    for symptom in diagnosis.harmless:
        silence = words("harmless.silence", title=symptom.title, step=symptom.silence) if symptom.silence else ""
        yield replace(log_line(symptom.evidence[0]), why=silence or symptom.title, harmless=True)


def harm_done(symptom: SymptomSeen, words: Catalogue) -> str:
    """Return that the program went on without it, and how to silence its lines."""
    why = symptom.refuted_by.why if symptom.refuted_by else ""
    return words("outlived.silence", title=symptom.title, why=why, step=symptom.silence)


def _detail(key: str, words: Catalogue, blocks: Iterable[Block]) -> Section:
    return Section(key, words(key), tuple(blocks), detail=True)


def _fault(cause: Cause, words: Catalogue) -> Iterator[Block]:
    """Yield a second fault with its proof and steps."""
    yield cause.title
    yield cause.summary
    yield from map(log_line, cause.evidence[:2])
    yield from (task(step, words) for step in cause.steps)


def task(step: Step, words: Catalogue) -> Task:
    """Return the step with the number of threads that confirm it."""
    confirmed = words.count("step.confirmed", step.confirmed) if step.confirmed else ""
    return Task(words("space").join(filter(None, (step.text, confirmed))), step.commands)


def _guess(cause: Cause, words: Catalogue) -> Iterator[Block]:
    """Yield a cause that is less likely, with its first proof."""
    yield words("guess", signature=cause.signature, title=cause.title, value=f"{cause.confidence:.2f}")
    yield from map(log_line, cause.evidence[:1])


def alternatives(diagnosis: Diagnosis) -> Sequence[Cause]:
    """Return the less likely causes."""
    return [cause for cause in diagnosis.causes[1:] if cause not in diagnosis.further_faults]


def log_line(evidence: Evidence) -> LogLine:
    around = tuple((line.number, line.text.rstrip()) for line in evidence.around)
    return LogLine(location(evidence), evidence.line.text.strip(), evidence.why, evidence.line.number, around)


def checks(cause: Cause, words: Catalogue, *outcomes: str) -> Iterator[str]:
    """Yield lines such as ``confirmed: the process ended in this way (signal 9), job.log:812``."""
    return (_checked(check, words) for check in cause.checked if check.holds in outcomes)


def _checked(check: Check, words: Catalogue) -> str:
    what = words(f"claim.{'no' if check.holds == 'contradicted' else 'yes'}.{check.claim}")
    proof = next(iter(check.evidence), None)
    how = words("claim.how", how=proof.why) if proof and proof.why else ""
    where = words("claim.at", where=location(proof)) if proof else ""
    return words(f"claim.{check.holds}", what=what, how=how, where=where)


def _owner(owner: Owner, words: Catalogue) -> Iterator[str]:
    """Yield who has to change something, with the frame: "your code, train.py:88"."""
    if owner.who != "not-told":
        who = words("joint").join(part for part in (words(f"owner.who.{owner.who}"), owner.frame) if part)
        yield words("space").join(part for part in (who + words("full-stop"), owner.why) if part)


def unread(problems: Sequence[Problem], words: Catalogue) -> Iterator[str]:
    """Yield the inputs that could not be read whole, with what to do."""
    for problem in problems[:MOST_PROBLEMS]:
        text = words("colon").join(part for part in (problem.where, problem.what, problem.why) if part)
        yield f"{text}{words('and')}{problem.help}" if problem.help else text
    if len(problems) > MOST_PROBLEMS:
        yield words("more", n=f"{len(problems) - MOST_PROBLEMS:,}")


class _Rows(Struct, frozen=True):
    """Rows of symptoms. Locations in ``file`` are written without its name.

    ``reasons`` adds the explaining signature to each row. Symptoms on the proof of ``answer`` repeat it.
    """

    words: Catalogue
    file: str
    reasons: bool
    answer: Cause | None

    def of(self, symptoms: Iterable[SymptomSeen]) -> Iterator[Row]:
        """Yield one row per signature and explanation, in the order of ``symptoms``."""
        proof = {location(line) for line in self.answer.evidence} if self.answer else set()
        groups: dict[tuple[str, str | None], list[SymptomSeen]] = {}
        for symptom in symptoms:
            own = self.answer is not None and symptom.signature == self.answer.signature
            if not own or not all(location(line) in proof for line in symptom.evidence):
                groups.setdefault((symptom.signature, symptom.explained_by), []).append(symptom)
        return map(self._row, groups.values())

    def _row(self, group: list[SymptomSeen]) -> Row:
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
        where = _span([line for symptom in group for line in symptom.evidence], self.file)
        return Row(affected, first.signature, description, where, first.explained_by)


def _span(evidence: Sequence[Evidence], file: str) -> str:
    """Return the span of ``evidence`` in its first file: ``job.log:7 … :90``.

    If there are other files, the text is ``job.log:7 …``.
    """
    if not evidence:
        return ""
    first = min(evidence, key=lambda proof: (proof.line.file != evidence[0].line.file, proof.line.number))
    last = max(proof.line.number for proof in evidence if proof.line.file == first.line.file)
    start = location(first).removeprefix(file) if file == first.line.file else location(first)
    if any(proof.line.file != first.line.file for proof in evidence):
        return f"{start} …"
    return start if last == first.line.number else f"{start} … :{last}"


def _rank_row(line: RankLine) -> Row:
    """Return a line of the rank table as a row. Its part stands in place of a signature."""
    description = " · ".join(part for part in (line.host, line.progress, line.failure) if part)
    return Row(line.ranks, line.role, description, line.location)


def _runs(runs: Sequence[Run], words: Catalogue) -> Iterator[str]:
    """Yield one line for each other run of the log. Equal runs in a row share a line: "Runs 1-2 of 5: cuda.oom"."""
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


def ranks_and_hosts(job: JobSummary, words: Catalogue) -> str:
    """Return "32 ranks on 4 hosts", or "3 ranks seen · gpu-b02" if others may be silent."""
    hosts = host_names(job.hosts, words) if len(job.hosts) < 2 else words.count("hostcount", len(job.hosts))
    ranks = rank_count(job, words)
    if ranks and hosts and job.ranks_expected:
        return words("job.on", ranks=ranks, hosts=hosts)
    return words("dot").join(part for part in (ranks, hosts) if part)


def _job(diagnosis: Diagnosis, words: Catalogue) -> Iterator[str]:
    """Yield the name of the job and its facts: "Launcher: torchrun"."""
    yield diagnosis.name
    yield from (f"{name}{words('colon')}{value}" for name, value in job_facts(diagnosis.job, words))

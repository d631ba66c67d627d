"""Make the document of a diagnosis: what to do, what happened, how we know.

It names ranks and hosts, groups equal rows and counts them. It decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from logdoctor.frames import find_frame
from logdoctor.model import CALM, Cause, Culprit, Diagnosis, Evidence, JobSummary, Progress
from logdoctor.model.escape import escape_all
from logdoctor.model.numbers import number
from logdoctor.model.sentences import split_sentences
from logdoctor.pack.regexes import later
from logdoctor.render import details
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.columns import shorten_end, values_in, words_in
from logdoctor.render.document import Document, LogLine, Paragraph, Section, Task
from logdoctor.render.entity_names import place_name, process_name, rank_count, rank_names, suspect_name
from logdoctor.render.phrases import (
    CERTAIN,
    clock_time,
    continue_sentence,
    guarded,
    location,
    progress_phrase,
    what_was_read,
)

MARKS = {"failed": "✗", "stopped": "■", "finished": "✓"}
NOT_JUDGED = "?"
MOST_GUESSES = 3
LONGEST_QUOTE = 60
_PLACE = later(r"\bin: \S{1,200}:\d{1,6}(?=, )")
"""Place in the source of a library, which stands before what went wrong."""
"""Characters of a log line in a headline."""
LAST_LINES = 3


def document(diagnosis: Diagnosis, words: Catalogue) -> Document:
    """Return the document of ``diagnosis`` in the language of ``words``. All texts are escaped."""
    diagnosis = escape_all(diagnosis, tab=" ")
    sections = _finished(diagnosis, words) if diagnosis.verdict == "finished" else _sections(diagnosis, words)
    return Document(
        verdict=diagnosis.verdict,
        mark=MARKS.get(diagnosis.verdict, NOT_JUDGED),
        name=diagnosis.name,
        decision=diagnosis.decision.headline or diagnosis.verdict,
        happened=happened(diagnosis, words),
        identity=words("dot").join(part for part in _identity(diagnosis, words) if part),
        sections=tuple(section for section in sections if section.blocks),
        foot=words("dot").join(part for part in _foot(diagnosis, words) if part),
        notice=_notice(diagnosis, words),
    )


def happened(diagnosis: Diagnosis, words: Catalogue) -> str:
    """Return what happened, as it stands behind the decision in the first line."""
    cause, job, verdict = diagnosis.answer, diagnosis.job, diagnosis.verdict
    if cause:
        return guarded(continue_sentence(cause.title, words), cause.confidence, words)
    progress = progress_phrase(job.last_progress, words) if job.last_progress else ""
    if verdict == "finished":
        return words("finished.at", progress=progress) if _is_at_end(job.last_progress) else words("finished")
    if verdict == "no-end-seen":
        key = "end.step" if _is_at_end_of_file(job.last_progress, diagnosis) else "end.after"
        return words(key, progress=progress) if progress else words("end.started")
    if verdict == "nothing-to-judge":
        return _nothing(diagnosis, words)
    if diagnosis.suspects:
        return continue_sentence(diagnosis.suspects[0].why, words)
    if not diagnosis.unexplained and diagnosis.decision.because and not _is_death_told(job):
        return continue_sentence(diagnosis.decision.because, words)
    return _unknown(diagnosis, words) + (words("denies.reason") if "reason" in diagnosis.absent else "")


def _is_death_told(job: JobSummary) -> bool:
    return job.first_death is not None and job.first_death.rank is not None


def _unknown(diagnosis: Diagnosis, words: Catalogue) -> str:
    """Return what is seen of a failure without a cause."""
    death = diagnosis.job.first_death
    if death and death.rank is not None:
        key = "unknown.ended" if death.why else "unknown.ended.bare"
        return words(key, who=words("rank.1", ranks=death.rank), how=death.why)
    title = next((symptom.title for symptom in diagnosis.symptoms if symptom.title), "")
    if title:
        return words("unknown.but", title=continue_sentence(title, words))
    said = next((line.line.text.strip() for line in diagnosis.unexplained), "")
    if frame := find_frame(said):
        return words("unknown.frames", frame=frame.told)
    said = _PLACE.sub("…", said)
    return words("unknown.line", text=shorten_end(said, LONGEST_QUOTE)) if said else words("unknown")


def _is_at_end_of_file(progress: Progress | None, diagnosis: Diagnosis) -> bool:
    """Return whether the last progress stands in the last lines of its file."""
    if progress is None:
        return False
    line = progress.evidence.line
    lengths = {source.file: source.lines for source in diagnosis.coverage.inputs}
    return lengths.get(line.file, 0) - line.number <= LAST_LINES


def _is_at_end(progress: Progress | None) -> bool:
    """Return whether the last progress is the last of several steps. A bar of one step may count something else."""
    step, _, total = (progress.value if progress else "").partition("/")
    return step == total and (number(total) or 0) > 1


def _nothing(diagnosis: Diagnosis, words: Catalogue) -> str:
    inputs = diagnosis.coverage.inputs
    if len(inputs) == 1 and not diagnosis.coverage.bytes and not diagnosis.problems:
        return words("nothing.empty", file=inputs[0].file)
    return continue_sentence(diagnosis.decision.because, words)


def _identity(diagnosis: Diagnosis, words: Catalogue) -> Iterator[str]:
    """Yield the signature, the culprit, else the place, and the confidence."""
    cause, job = diagnosis.answer, diagnosis.job
    if cause:
        yield cause.signature
        culprit = process_name(cause.culprit, words)
        yield _with_ranks(culprit, cause, diagnosis, words) if culprit else place_name(cause.place, words)
        yield words("confidence", value=f"{cause.confidence:.2f}")
        yield words("by.classifier") if cause.by == "classifier" else ""
        yield words("rule.own", file=cause.rule_origin) if cause.rule_origin else ""
    elif diagnosis.verdict == "finished":
        yield location(diagnosis.verdict_known_by) if diagnosis.verdict_known_by else ""
        yield diagnosis.verdict_known_by.text.strip() if diagnosis.verdict_known_by else ""
        yield rank_count(job, words)
    else:
        yield diagnosis.verdict
        if diagnosis.suspects:
            yield words("suspect.short", who=suspect_name(diagnosis.suspects[0], words))
            yield words("confidence", value=f"{diagnosis.suspects[0].confidence:.2f}")
        elif diagnosis.verdict == "unknown" and job.first_death and job.first_death.rank is not None:
            yield words("first.ended", who=_place(job.first_death, words))
        elif diagnosis.verdict == "no-end-seen" and job.last_progress:
            line = job.last_progress.evidence
            yield words("last.step", where=words("joint").join(filter(None, (location(line), clock_time(line.time)))))


def _with_ranks(name: str, cause: Cause, diagnosis: Diagnosis, words: Catalogue) -> str:
    """Return the name of a failed host with the ranks that ran on it: "gpu-c04 (ranks 24-31)"."""
    culprit, signature = cause.culprit, cause.signature
    ranks = [row.rank for row in diagnosis.job.rank_table if row.host in culprit.hosts]
    if culprit.ranks or culprit.gpus or not ranks or not signature.startswith("host."):
        return name
    return words("named", title=name, who=rank_names(ranks, words))


def _place(evidence: Evidence, words: Catalogue) -> str:
    """Return "rank 3 on gpu-a02"."""
    ranks = (evidence.rank,) if evidence.rank is not None else ()
    return process_name(Culprit(ranks, (evidence.host,) if evidence.host else ()), words)


def _sections(diagnosis: Diagnosis, words: Catalogue) -> Iterator[Section]:
    """Yield the sections of the first screen, then the details."""
    cause, calm = diagnosis.answer, diagnosis.verdict in CALM
    sentences = tuple(_sentences(diagnosis, words))
    yield Section("happened", words("happened"), (Paragraph(sentences),) if sentences else ())
    if cause:
        told = " ".join((cause.title, cause.summary, *(fact.said for fact in cause.facts)))
        lines = log_lines(_proof(cause, diagnosis.job), words_in(told))
        yield Section("proof", words("proof"), tuple(lines))
    elif not calm:
        seen = (*(line for suspect in diagnosis.suspects for line in suspect.evidence), *diagnosis.unexplained)
        yield Section("proof", words("proof"), tuple(log_lines(seen)))
    yield Section("do", words("do.hung" if diagnosis.decision.running else "do"), tuple(_tasks(diagnosis, words)))
    for other in diagnosis.further_faults:
        text = words("also", signature=other.signature, title=other.title)
        yield Section("also", "", (text,))
    yield Section("doubts", words("doubts"), tuple(_doubts(diagnosis, words)))
    guesses = diagnosis.causes if not cause else details.alternatives(diagnosis)
    names = [f"{guess.signature} {guess.confidence:.2f}" for guess in guesses[:MOST_GUESSES]]
    if not calm:
        yield Section("guesses", words("guesses"), (words("dot").join(names),) if names else ())
    if calm:
        yield _outlived(diagnosis, words)
        yield Section("harmless", words("harmless"), tuple(details.harmless(diagnosis, words)))
    yield Section("not-read", words("notread"), tuple(details.unread(diagnosis.problems, words)))
    yield from details.sections(diagnosis, words)


def _finished(diagnosis: Diagnosis, words: Catalogue) -> Iterator[Section]:
    yield _outlived(diagnosis, words)
    yield Section("harmless", words("harmless"), tuple(details.harmless(diagnosis, words)))
    yield Section("not-read", words("notread"), tuple(details.unread(diagnosis.problems, words)))
    yield from details.sections(diagnosis, words)


def _outlived(diagnosis: Diagnosis, words: Catalogue) -> Section:
    """Return the errors that did no harm, and how to silence those that the program does without."""
    told = ((symptom, symptom.evidence[0]) for symptom in diagnosis.symptoms if symptom.evidence)
    lines = (replace(line, why=details.harm_done(seen, words)) if seen.silence else line for seen, line in told)
    title = words("outlived.again" if len(diagnosis.runs) > 1 else "outlived")
    return Section("outlived", title, tuple(replace(line, harmless=True) for line in log_lines(lines)))


def _sentences(diagnosis: Diagnosis, words: Catalogue) -> Iterator[str]:
    """Yield what happened, one sentence each, the most important first: facts, then what is often the reason."""
    cause, job = diagnosis.answer, diagnosis.job
    if not cause:
        return
    first, *more = split_sentences(cause.summary) or [""]
    guesses = tuple(words("guesses.begin").split())
    yield first
    yield from (sentence for sentence in more if not sentence.startswith(guesses))
    reason = diagnosis.decision.because
    if reason and reason != words.table.get(f"because.{diagnosis.decision.do}"):
        yield reason
    if job.last_progress:
        yield _progress_sentence(diagnosis, words)
    if cause.victims:
        yield words.count("victims" if cause.culprit.ranks else "reports", cause.victims)
    yield from (sentence for sentence in more if sentence.startswith(guesses))


def _progress_sentence(diagnosis: Diagnosis, words: Catalogue) -> str:
    job = diagnosis.job
    assert job.last_progress is not None  # noqa: S101
    progress = job.last_progress
    last = words("last", progress=progress_phrase(progress, words), where=location(progress.evidence))
    checkpoint = job.last_checkpoint
    if diagnosis.verdict != "stopped" or checkpoint is None or checkpoint.step is None:
        return last
    return words("space").join((last, words("checkpoint", step=f"{checkpoint.step:,}")))


def _proof(cause: Cause, job: JobSummary) -> Iterator[Evidence]:
    """Yield the evidence, the line of the last progress at the end, because a sentence names it."""
    progress = location(job.last_progress.evidence) if job.last_progress else ""
    yield from cause.evidence[:1]
    yield from sorted(cause.evidence[1:], key=lambda proof: location(proof) == progress)


def log_lines(evidence: Iterable[Evidence], told: Collection[str] = ()) -> Iterator[LogLine]:
    """Yield log lines with their locations. A repeated ``why`` is left out after its first line.

    Each line keeps the words of ``told``, and the values in which it differs from lines that are alike else.
    """
    whys: set[str] = set()
    lines = [*map(details.log_line, evidence)]
    values = [values_in(line.text) for line in lines]
    for line, own in zip(lines, values, strict=True):
        others = [other for other in values if other is not own and len(other & own) * 2 > len(own)]
        differ = own.difference(*others) if others else set()
        yield replace(line, why="" if line.why in whys else line.why, told=frozenset(differ.union(told)))
        whys.add(line.why)


def _tasks(diagnosis: Diagnosis, words: Catalogue) -> Iterator[Task]:
    """Yield what to do: first the decision, then the steps of the cause, or what to collect."""
    cause, decision = diagnosis.answer, diagnosis.decision
    yield from (details.task(step, words) for step in decision.steps)
    if cause is None:
        sentence = decision.sentence if diagnosis.verdict == "nothing-to-judge" else ""
        collect = () if decision.running and decision.steps else decision.collect
        yield from (Task(text) for text in (sentence, *collect) if text)
        return
    yield from (details.task(step, words) for step in cause.steps)
    if not decision.steps and not cause.steps:
        yield Task(decision.sentence)


def _doubts(diagnosis: Diagnosis, words: Catalogue) -> Iterator[str]:
    """Yield what is not certain, or was missing."""
    cause, job = diagnosis.answer, diagnosis.job
    if cause and cause.confidence < CERTAIN:
        yield from details.checks(cause, words, "contradicted")
    number = len(job.ranks_seen)
    if job.ranks_expected and 0 < number < job.ranks_expected and (not cause or cause.confidence < CERTAIN):
        yield words("missing.ranks", seen=f"{number:,}", expected=f"{job.ranks_expected:,}")
    if job.truncated and diagnosis.verdict != "no-end-seen":
        yield words("missing.cut")


def _foot(diagnosis: Diagnosis, words: Catalogue) -> Iterator[str]:
    """Yield how much was read, the size of the job, and what the first screen leaves out."""
    if diagnosis.verdict == "nothing-to-judge" and not diagnosis.coverage.bytes:
        return
    yield what_was_read(diagnosis, words)
    if count := sum(entry.records for entry in diagnosis.coverage.not_judged):
        yield words.count("set-aside.count", count)
    if diagnosis.verdict != "finished":
        yield details.ranks_and_hosts(diagnosis.job, words)
    if diagnosis.job.attempts > 1:
        yield words.count("attempt", diagnosis.job.attempts)
    if diagnosis.answer and diagnosis.answer.victims and diagnosis.answer.culprit.ranks:
        yield words.count("victimcount", diagnosis.answer.victims)


def _notice(diagnosis: Diagnosis, words: Catalogue) -> str:
    redacted = diagnosis.redaction
    if not redacted.on:
        return ""
    numbers = {"hostcount": redacted.hosts, "usercount": redacted.users, "addresscount": redacted.addresses}
    counts = [words.count(key, number) for key, number in numbers.items() if number]
    return words("redacted", counts=words("joint").join(counts)) if counts else ""

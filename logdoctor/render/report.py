"""What a person is told, in which order and in which words: the shape that every format for people lays out.

`report` turns a `Diagnosis` into a `Report` of finished, disarmed sentences.  It decides nothing: it puts names to
numbers, groups what is the same and counts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from logdoctor.model import (
    Cause,
    Coverage,
    Culprit,
    Diagnosis,
    Evidence,
    HostClock,
    JobPicture,
    Problem,
    Progress,
    Run,
    SymptomSeen,
)
from logdoctor.model.escape import escape_all
from logdoctor.model.times import iso_time
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.rank_rows import RankLine, rank_lines
from logdoctor.render.who import hosts_in_words, ranges, ranks_counted, ranks_in_words, who_is, who_to_drain

CLOCKS_SHOWN = 2
OUTLIVED_SHOWN = 3
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


class Page(Struct, frozen=True):
    """How it is shown: the words, and for a terminal its width in columns, colour, one line only, seconds taken."""

    words: Catalogue
    color: bool = False
    width: int = 100
    quiet: bool = False
    elapsed: float | None = None


class Proof(Struct, frozen=True):
    """A line to look at: ``file:line``, the line, and why it matters ("" where that is plain).

    ``around``: the lines above and below it and itself, with their numbers, where a format asks for them.
    """

    place: str
    text: str
    why: str
    number: int = 0
    around: tuple[tuple[int, str], ...] = ()


class Answer(Struct, frozen=True):
    """A cause in words: ``who`` did it ("": not told), and ``doing``: what to do with the job in one clause.

    ``level`` is the confidence as a number, ``sure`` the same in words; ``rule`` the id of the rule that held.
    """

    signature: str
    title: str
    sure: str
    summary: str
    proofs: tuple[Proof, ...]
    doing: str
    remedies: tuple[str, ...]
    references: tuple[str, ...]
    who: str
    action: str
    level: float
    rule: str


class Fallout(Struct, frozen=True):
    """All victims of one kind: who or how many, what, and where in the logs."""

    who: str
    signature: str
    what: str
    where: str
    because: str | None = None


class Report(Struct, frozen=True):
    """Everything that is told; an empty part is left out.  ``head`` makes sense alone, ``sentence`` beside the verdict.

    ``also`` are further faults beside the answer, ``instead`` less likely answers; ``decision`` is whether to try it
    again, where there were several attempts.
    """

    verdict: str
    name: str
    head: str
    sentence: str
    answer: Answer | None
    also: tuple[Answer, ...]
    instead: tuple[Answer, ...]
    seen: tuple[Proof, ...]
    missing: tuple[str, ...]
    advice: tuple[str, ...]
    fallout: tuple[Fallout, ...]
    symptoms: tuple[Fallout, ...]
    ranks: tuple[RankLine, ...]
    runs: tuple[str, ...]
    decision: str
    job: str
    progress: str
    read: str
    problems: tuple[Problem, ...]


def report(diagnosis: Diagnosis, words: Catalogue) -> Report:
    """Give what is told of ``diagnosis`` in the language of ``words``, without anything that a log could act with."""
    told = escape_all(diagnosis, tab=" ")
    named = told.causes[:1] if told.verdict == "failure" else ()
    also = tuple(one for one in told.causes[1:] if named and _is_another_fault(one, named[0]))
    instead = tuple(one for one in told.causes if one not in named and one not in also)
    hosts = told.picture.hosts
    answer = _answer(named[0], hosts, words) if named else None
    file = named[0].evidence[0].line.file if named and named[0].evidence else ""
    proof = frozenset(proof.place for proof in answer.proofs) if answer else frozenset()
    rows = _Rows(words, file, bool(also), answer.signature if answer else "", proof)
    picture = told.picture
    sentence = answer.title if answer else _sentence_without_cause(told, words)
    return Report(
        verdict=told.verdict,
        name=told.job,
        head=f"{answer.signature if answer else told.verdict} — {sentence}",
        sentence=sentence,
        answer=answer,
        also=tuple(_answer(one, hosts, words) for one in also),
        instead=tuple(_answer(one, hosts, words) for one in instead),
        seen=proofs((*told.unexplained, *(one.evidence for one in told.novel))),
        missing=tuple(_missing(told, words)) if told.verdict == "unknown" else (),
        advice=told.advice,
        fallout=rows.of(one for one in told.symptoms if one.explained_by is not None),
        symptoms=rows.of(one for one in told.symptoms if one.explained_by is None),
        ranks=rank_lines(picture.rank_table, words, file),
        runs=tuple(_runs(told.runs, words)),
        decision=_decision(told, words),
        job=_job(told.job, picture, words),
        progress=_progress(picture.last_progress, words) if picture.last_progress else "",
        read=_read(told.coverage, words),
        problems=told.problems,
    )


# ── the answer ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_another_fault(cause: Cause, answer: Cause) -> bool:
    """Tell a fault of its own from an alternative: answers that shut each other out share a confidence of 1."""
    return cause.confidence >= 0.5 and cause.confidence + answer.confidence > 1.05


def _sentence_without_cause(told: Diagnosis, words: Catalogue) -> str:
    if told.verdict != "healthy":
        loud = next((one.title for one in told.symptoms if one.title), "")
        return words("unknown.but", title=loud) if loud else words("unknown")
    if told.coverage.files and not told.coverage.bytes:
        return words("healthy.empty")
    last = told.picture.last_progress
    parts = [words("healthy.outlived", failures=_outlived(told, words)) if told.symptoms else words("healthy")]
    if last:
        parts.append(words("healthy.progress", progress=_value(last, words)))
    return words("joint").join(parts)


def _outlived(told: Diagnosis, words: Catalogue) -> str:
    """What failed and did not stop the job: a few of them, each with its place."""
    shown = [f"{one.title} ({place(one.evidence[0])})" for one in told.symptoms[:OUTLIVED_SHOWN] if one.evidence]
    left = len(told.symptoms) - len(shown)
    return "; ".join([*shown, words("more", n=left)] if left else shown)


def _answer(cause: Cause, hosts: Sequence[str], words: Catalogue) -> Answer:
    who = who_is(cause.culprit, words)
    mentioned = not who or _mentions(cause.title, cause.culprit)
    return Answer(
        signature=cause.signature,
        title=cause.title if mentioned else words("named", title=cause.title, who=who),
        sure=f"{words('confidence', value=f'{cause.confidence:.2f}')} · {words(f'by.{cause.by}')}",
        summary=cause.summary,
        proofs=proofs(cause.evidence),
        doing=_doing(cause, who, hosts, words),
        remedies=cause.remedy,
        references=cause.references,
        who=who,
        action=cause.action,
        level=min(max(cause.confidence, 0.0), 1.0),
        rule=cause.rule,
    )


def _mentions(title: str, culprit: Culprit) -> bool:
    numbers = {int(number) for number in re.findall(r"\d{1,9}", title)}
    names = (*culprit.hosts, *culprit.gpus, *culprit.peers)
    return any(name in title for name in names) or any(rank in numbers for rank in culprit.ranks)


def _doing(cause: Cause, who: str, hosts: Sequence[str], words: Catalogue) -> str:
    guilty = cause.culprit.hosts
    if cause.action == "exclude" and len(guilty) > 1 and not set(hosts) - set(guilty):  # taking all out leaves none
        return words("do.exclude.all", hosts=hosts_in_words(guilty, words))
    if cause.action == "exclude" and who:
        return words("do.exclude.who", who=who_to_drain(cause.culprit, words))
    return words(f"do.{cause.action}")


def proofs(evidence: Iterable[Evidence]) -> tuple[Proof, ...]:
    """Give lines of evidence with their places, in the order given; what a code means is said once."""
    said: set[str] = set()
    return tuple(_proof(one, said) for one in evidence)


def _proof(one: Evidence, said: set[str]) -> Proof:
    around = tuple((line.number, line.text.rstrip()) for line in one.around)
    why = "" if one.why in said else one.why
    said.add(why)
    return Proof(place(one), one.line.text.strip(), why, one.line.number, around)


def place(evidence: Evidence) -> str:
    """Give ``file:line``, the form that editors and terminals open."""
    return f"{evidence.line.file}:{evidence.line.number}"


def is_link(reference: str) -> bool:
    """Tell whether a reference is a plain web address, which a format may make a link of."""
    return re.fullmatch(r"https?://[A-Za-z0-9./?=&%#:~_+,;-]+", reference) is not None


# ── fallout ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Rows(Struct, frozen=True):
    """Makes rows of symptoms; the name of ``file`` is left out of places, ``reasons`` says whose fallout it is."""

    words: Catalogue
    file: str
    reasons: bool
    told: str
    """The signature of the answer."""
    shown: frozenset[str]
    """The places of its proof."""

    def of(self, symptoms: Iterable[SymptomSeen]) -> tuple[Fallout, ...]:
        """Give one row for all symptoms of one signature with one explanation, in the order they came."""
        groups: dict[tuple[str, str | None], list[SymptomSeen]] = {}
        for one in symptoms:
            if one.signature == self.told and all(place(proof) in self.shown for proof in one.evidence):
                continue  # the answer itself in other words
            groups.setdefault((one.signature, one.explained_by), []).append(one)
        return tuple(self._row(group) for group in groups.values())

    def _row(self, group: list[SymptomSeen]) -> Fallout:
        words, first = self.words, group[0]
        ranks = sorted({rank for one in group for rank in one.ranks})
        count = words.count("line", sum(one.count for one in group))
        what = first.title
        if len(ranks) > 1:
            what = words("named", title=what, who=words("rank.n", ranks=ranges(ranks)))
        if self.reasons and first.explained_by:
            what += words("joint") + words("because", signature=first.explained_by)
        who = words.count("rankcount", len(ranks)) if len(ranks) > 1 else ranks_in_words(ranks, words) or count
        where = self._where([proof for one in group for proof in one.evidence])
        return Fallout(who, first.signature, what, where, first.explained_by)

    def _where(self, evidence: Sequence[Evidence]) -> str:
        if not evidence:
            return ""
        first = min(evidence, key=lambda one: (one.line.file != evidence[0].line.file, one.line.number))
        last = max(one.line.number for one in evidence if one.line.file == first.line.file)
        start = place(first).removeprefix(self.file) if self.file == first.line.file else place(first)
        if any(one.line.file != first.line.file for one in evidence):
            return f"{start} …"
        return start if last == first.line.number else f"{start} … :{last}"


# ── the job, what was read, what is missing ─────────────────────────────────────────────────────────────────────────


def _job(name: str, picture: JobPicture, words: Catalogue) -> str:
    apart = {product for product, _, _ in picture.versions_apart}
    parts = [name, _where_it_ran(picture, words), *(f"{p} {v}" for p, v in picture.versions if p not in apart)]
    for product, version, ranks in picture.versions_apart:
        who = ranks_in_words(ranks, words)
        parts.append(words("versions.apart", product=product, version=version, who=who))
    parts += [picture.launcher or "", words.count("attempt", picture.attempts), *_clocks(picture.clocks, words)]
    parts += [words("cut")] if picture.truncated else []
    return " · ".join(part for part in parts if part)


def _clocks(clocks: Sequence[HostClock], words: Catalogue) -> Iterable[str]:
    """Give the clocks that are off most, each as ahead of the other one."""
    for one in sorted(clocks, key=lambda one: -abs(one.ahead))[:CLOCKS_SHOWN]:
        host, of = (one.host, one.of) if one.ahead > 0 else (one.of, one.host)
        events = words.count("clock.event", one.events)
        yield words("clock.ahead", host=host, of=of, seconds=f"{abs(one.ahead):,.0f}", events=events)
    if len(clocks) > CLOCKS_SHOWN:
        yield words("clock.more", n=len(clocks) - CLOCKS_SHOWN)


def _runs(runs: Sequence[Run], words: Catalogue) -> Iterable[str]:
    """Give one line for each other run of the same log, or for several in a row that fared alike: what, and where."""
    of = len(runs)
    for (fared, file), grouped in groupby(
        enumerate(runs, 1), lambda pair: (_how_it_fared(pair[1], words), pair[1].file)
    ):
        alike = list(grouped)
        (first, start), (last, end) = alike[0], alike[-1]
        if fared:
            one = words("run", n=first, of=of)
            which = one if first == last else words("run.n", first=first, last=last, of=of)
            yield f"{which}{words('colon')}{fared} · {file}:{start.first_line}-{end.last_line or ''}"


def _how_it_fared(run: Run, words: Catalogue) -> str:
    """Give what became of a run; "" for the one that is told."""
    if run.told:
        return ""
    otherwise = words("run.healthy" if run.verdict == "healthy" else "run.unknown")
    return f"{run.signature} — {run.title}" if run.signature else otherwise


def _decision(told: Diagnosis, words: Catalogue) -> str:
    """Where there was one attempt only, what to do says it all."""
    made = told.decision
    if made.action == "none" or made.attempts < 2:
        return ""
    action = words(f"decide.{made.action}", hosts=words("joint").join(made.hosts) or words("culprit.the"))
    return action + words("colon") + made.reason


def _where_it_ran(picture: JobPicture, words: Catalogue) -> str:
    hosts, ranks = hosts_in_words(picture.hosts, words), ranks_counted(picture, words)
    if not ranks:
        return hosts
    return words("job.on", ranks=ranks, hosts=hosts) if hosts else ranks


def _value(progress: Progress, words: Catalogue) -> str:
    return words("progress.last", unit=progress.unit, value=progress.value).strip()


def _progress(progress: Progress, words: Catalogue) -> str:
    seen = progress.evidence
    moment = iso_time(seen.time)
    rank = words("rank.1", ranks=seen.rank) if seen.rank is not None else ""
    parts = (_value(progress, words), rank, seen.host or "", moment.replace("T", " ") if moment else "", place(seen))
    return " · ".join(part for part in parts if part)


def _read(coverage: Coverage, words: Catalogue) -> str:
    size = words("read.size", size=_size(coverage.bytes), lines=words.count("line", coverage.lines))
    return f"{words.count('file', coverage.files)}{words('joint')}{size}" if coverage.files != 1 else size


def _size(number: int) -> str:
    """Give bytes in decimal units with three digits: 118 MB, 4.2 kB."""
    value, unit = float(number), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    digits = 1 if unit and value < 99.95 else 0
    return f"{value:.{digits}f} {_UNITS[unit]}"


def _missing(told: Diagnosis, words: Catalogue) -> Iterable[str]:
    yield words("missing.cause" if told.unexplained else "missing.cause.bare")
    picture = told.picture
    seen = len(picture.ranks_seen)
    if picture.ranks_expected and 0 < seen < picture.ranks_expected:
        yield words("missing.ranks", seen=f"{seen:,}", expected=f"{picture.ranks_expected:,}")
    if picture.truncated:
        yield words("missing.cut")
    if told.problems:
        yield words("missing.unread")

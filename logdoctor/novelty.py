"""For failures that nothing knows: the lines that this job never printed while all was well, or a good run never did.

While a job is read, a bounded excerpt of each log is put aside as it streams by (its start, samples of its middle, its
end), for a pipe cannot be read twice.  Only where the rules leave the answer open are its lines masked to templates and
compared.  With a log of a good run that one is the measure, else what came well before the first failure.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.model import Diagnosis, Evidence, InputError, Job, Line, Novel, Problem
from logdoctor.sources import Bounds, open_streams

START = 1 << 16
SAMPLE = 1 << 14
END = 1 << 17
"""Bytes that are kept of the start of a log, of a window in its middle, and of its end."""
FILES = 64
"""Of so many logs."""
CHUNK = 1 << 18
LINES = 6000
SHAPES = 800
"""So many lines of so many shapes are compared with as many; of a good run ten times that."""
BASELINE = 64 << 20
"""Bytes that are read of a good run."""
LONGEST = 500
SHORTEST = 4
"""Characters of a line, and of a template."""
FEWEST = 8
"""A healthy phase of fewer lines says nothing about what is unusual."""
BEFORE = 20
"""Lines just before the first failure are not taken for healthy: trouble may begin unnoticed."""
SHOWN = 6
FLOOD = 8
"""What is printed more often than that is seldom the cause."""
NUMBER = re.compile(r"[0-9a-fA-F]*\d[0-9a-fA-F]*")
LOUD = re.compile(
    r"(?i)error|fail|fatal|exception|cannot|can't|could not|unable|refus|denied|invalid|abort|panic|lost|timed? ?out"
    r"|corrupt|missing|not found|unexpected|exceed|mismatch|broken|killed|died|unreachable|no such|critical|warn"
)
WHY = {
    "en": {"own": "never printed while all was well", "good": "the good run never printed it", "times": ", {n} times"},
    "zh": {"own": "一切正常时从未出现", "good": "正常运行中从未出现", "times": ",共 {n} 次"},
}


class Excerpt(Struct):
    """What is put aside of one log; ``lines`` is how many the whole log has, so that its end knows its numbers."""

    name: str
    start: bytes = b""
    samples: list[bytes] = field(default_factory=list)
    end: bytes = b""
    lines: int = 0
    chunks: int = 0

    def take(self, chunk: memoryview) -> None:
        """Put aside what is worth it of the next bytes."""
        if len(self.start) < START:
            self.start += chunk[: START - len(self.start)]
        self.chunks += 1
        if self.chunks > 2 and self.chunks & (self.chunks - 1) == 0:  # ever fewer of a long log
            self.samples.append(bytes(chunk[:SAMPLE]))
        self.end = self.end[len(chunk) - END :] + chunk if len(chunk) < END else bytes(chunk[-END:])

    def first_lines(self) -> Iterator[Line]:
        """The lines of its start, with their numbers."""
        for number, raw in enumerate(_whole(self.start, len(self.start) == START), 1):
            yield Line(self.name, number, _text(raw))

    def middle_lines(self) -> Iterator[str]:
        """Lines of its middle; their numbers are not known."""
        for sample in self.samples:
            yield from (_text(raw) for raw in _whole(sample, cut=True)[1:])

    def last_lines(self) -> Iterator[Line]:
        """The lines of its end, with their numbers."""
        unfinished = bool(self.end) and not self.end.endswith(b"\n")
        number = self.lines - self.end.count(b"\n") + (not unfinished)
        for n, raw in enumerate(self.end.split(b"\n"), number):
            if n > number or number == 1:  # the first one may have lost its beginning
                yield Line(self.name, n, _text(raw))


def _whole(raw: bytes, cut: bool) -> list[bytes]:  # noqa: FBT001 - what it is cut from says it
    lines = raw.split(b"\n")
    return lines[:-1] if cut else lines


def _text(raw: bytes) -> str:
    return raw[:LONGEST].decode("utf-8", "replace").rstrip("\r")


class Excerpts:
    """The excerpts of all logs of a job, made while they are read."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self.logs: list[Excerpt] = []

    def watched(self, name: str, readinto: Callable[[memoryview], int]) -> Callable[[memoryview], int]:
        """``readinto`` that puts aside what it reads of the log ``name``; itself where there are too many logs."""
        if len(self.logs) >= FILES:
            return readinto
        log = Excerpt(name)
        self.logs.append(log)

        def read(buffer: memoryview) -> int:
            count = readinto(buffer)
            if count:
                log.take(buffer[:count])
            return count

        return read

    def ended(self, name: str, lines: int) -> None:
        """The log ``name`` was read to its end and has so many lines."""
        if self.logs and self.logs[-1].name == name:
            self.logs[-1].lines = lines


def with_novelty(diagnosis: Diagnosis, excerpts: Excerpts, lang: str = "en", baseline: str = "") -> Diagnosis:
    """An ``unknown`` diagnosis, or one that is guessed, with the lines that are new in it; others as they are.

    A ``baseline`` that cannot be read is a problem of the diagnosis.
    """
    if diagnosis.verdict == "healthy" or any(c.by == "rule" for c in diagnosis.causes):
        return diagnosis
    began = diagnosis.picture.first_failure.line if diagnosis.picture.first_failure else None
    try:
        healthy = _of_good_run(baseline) if baseline else _of_healthy_phase(excerpts.logs, began)
    except InputError as error:
        return replace(diagnosis, problems=(*diagnosis.problems, error.as_problem()))
    if not healthy:
        return diagnosis
    known = {(e.line.file, e.line.number) for e in diagnosis.unexplained}
    words = WHY.get(lang, WHY["en"])
    why = words["good" if baseline else "own"]
    found = _new(excerpts.logs, began, healthy, known)
    return replace(diagnosis, novel=tuple(_told(one, why, words["times"]) for one in found[:SHOWN]))


def _told(one: Novel, why: str, times: str) -> Novel:
    why += times.format(n=one.count) if one.count > 1 else ""
    return replace(one, evidence=replace(one.evidence, why=why))


def _of_good_run(baseline: str) -> set[str]:
    """The templates of a good run: of its start, its end, and samples between."""
    problems: list[Problem] = []
    excerpts, left = Excerpts(), BASELINE
    buffer = memoryview(bytearray(CHUNK))
    for stream in open_streams(Job(Path(baseline).name, (baseline,)), problems, Bounds()):
        read = excerpts.watched(stream.name, stream.readinto)
        while left > 0 and (count := read(buffer)):
            left -= count
    if not excerpts.logs:
        raise InputError("the log of a good run cannot be read", baseline, problems[0].why if problems else "")
    return _templates((text for log in excerpts.logs for text in _all_texts(log)), SHAPES * 10)


def _all_texts(log: Excerpt) -> Iterator[str]:
    yield from (line.text for line in log.first_lines())
    yield from (line.text for line in log.last_lines())
    yield from log.middle_lines()


def _of_healthy_phase(logs: Iterable[Excerpt], began: Line | None) -> set[str]:
    """The templates of what was printed before trouble began; empty where that was next to nothing."""
    texts: list[str] = []
    for log in logs:
        until = max(0, began.number - BEFORE) if began and began.file == log.name else None
        if until is None:  # when its trouble began is not known: its first half is taken for healthy
            until = log.lines // 2
        lines = {line.number: line.text for line in (*log.first_lines(), *log.last_lines())}
        texts += (text for number, text in lines.items() if number < until)
        if until >= log.lines // 2:
            texts += log.middle_lines()
    found = _templates(texts)
    return found if len(texts) >= FEWEST else set()


def _templates(texts: Iterable[str], most: int = SHAPES) -> set[str]:
    """The templates of ``texts``: masking is slow, so lines that differ in numbers alone are masked once."""
    from logdoctor.masking import template

    shapes = dict.fromkeys(map(_shape, itertools.islice(texts, LINES * most // SHAPES)))
    return {template(shape) for shape in itertools.islice(shapes, most)}


def _shape(text: str) -> str:
    return NUMBER.sub("0", text)


def _new(logs: Iterable[Excerpt], began: Line | None, healthy: set[str], known: set[tuple[str, int]]) -> list[Novel]:
    """What was printed around and after the first failure and is not ``healthy``: loud and rare lines first."""
    from logdoctor.masking import template

    groups: dict[str, list[Line]] = {}
    for line in itertools.islice((line for log in logs for line in _candidates(log, began)), LINES):
        if line.text.strip() and (line.file, line.number) not in known:
            groups.setdefault(_shape(line.text), []).append(line)
    found: dict[str, Novel] = {}
    for shape, lines in itertools.islice(groups.items(), SHAPES):
        masked = template(shape)
        if len(masked) >= SHORTEST and masked not in healthy:
            first = found.setdefault(masked, Novel(masked, 0, Evidence(lines[0])))
            found[masked] = replace(first, count=first.count + len(lines))
    return sorted(found.values(), key=lambda n: (not LOUD.search(n.template), n.count > FLOOD))


def _candidates(log: Excerpt, began: Line | None) -> Iterator[Line]:
    since = began.number - BEFORE if began and began.file == log.name else log.lines // 2
    seen: set[int] = set()
    for line in (*log.first_lines(), *log.last_lines()):
        if line.number >= since and line.number not in seen:
            seen.add(line.number)
            yield line

"""The lines above and below the evidence, read again from the logs.

The scan keeps no lines around matches. So they are read in a second pass, once the evidence is chosen.
The pass is bounded. It is left out if an input cannot be read twice (a pipe) or has changed.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from logdoctor.inputs import Bounds, open_streams
from logdoctor.logs.escapes import strip_escapes
from logdoctor.model import Cause, Diagnosis, Evidence, Job, Line, Stream, SymptomSeen

MAX_EVIDENCE = 32
MAX_BYTES = 2 << 30
"""Bytes that are read again of all logs of a job. A report must not take longer than the diagnosis."""
CHUNK_BYTES = 1 << 18
MAX_LINE_BYTES = 2000
"""Bytes that are kept of a line. A page shows no more."""
COMPARED_CHARS = 60
"""Characters of the evidence that must appear in the line when it is read again."""

MIN_SENTENCE_CHARS = 20
"""A line with more characters may be the start of evidence that was joined from several lines."""

LineNumbers = dict[str, set[int]]
LineTexts = dict[tuple[str, int], str]


def add_context(diagnosis: Diagnosis, job: Job, bounds: Bounds, lines: int) -> Diagnosis:
    """Add up to ``lines`` lines around each evidence.

    The diagnosis is returned as it is if the logs cannot be read again.
    """
    paths = tuple(path for path in job.paths if isinstance(path, str) and _is_rereadable(path))
    quotes = [*_quoted_evidence(diagnosis)][:MAX_EVIDENCE]
    if not paths or not quotes or lines < 1:
        return diagnosis
    numbers: LineNumbers = {}
    for evidence in quotes:
        near = range(max(evidence.line.number - lines, 1), evidence.line.number + lines + 1)
        numbers.setdefault(evidence.line.file, set()).update(near)
    texts = _read(replace(job, paths=paths), bounds, numbers)
    chosen_ids = set(map(id, quotes))

    def add_around(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
        return tuple(_add_lines(e, texts, lines) if id(e) in chosen_ids else e for e in evidence)

    def with_cause_lines(cause: Cause) -> Cause:
        return replace(cause, evidence=add_around(cause.evidence))

    def with_symptom_lines(symptom: SymptomSeen) -> SymptomSeen:
        return replace(symptom, evidence=add_around(symptom.evidence))

    return replace(
        diagnosis,
        causes=tuple(map(with_cause_lines, diagnosis.causes)),
        unexplained=add_around(diagnosis.unexplained),
        symptoms=tuple(map(with_symptom_lines, diagnosis.symptoms)),
    )


def _quoted_evidence(diagnosis: Diagnosis) -> Iterator[Evidence]:
    """Yield the evidence that a report quotes, the most important first."""
    for cause in diagnosis.causes:
        yield from cause.evidence
    yield from diagnosis.unexplained
    for symptom in diagnosis.symptoms:
        yield from symptom.evidence[:1]


def _is_rereadable(path: str) -> bool:
    """Report whether ``path`` names files or folders.

    A pipe is empty after the diagnosis, or waits for a writer for ever.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - `Path` would change the name
    except FileNotFoundError:
        return glob.has_magic(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _read(job: Job, bounds: Bounds, numbers: LineNumbers) -> LineTexts:
    texts: LineTexts = {}
    remaining = MAX_BYTES
    missing = set(numbers)
    for stream in open_streams(job, [], bounds):
        if stream.name in missing:
            missing.discard(stream.name)
            remaining -= _read_lines(stream, numbers[stream.name], remaining, texts)
        if not missing or remaining <= 0:
            break
    return texts


def _read_lines(stream: Stream, numbers: set[int], limit: int, texts: LineTexts) -> int:
    """Put the lines with these numbers into ``texts``. Return the number of bytes read."""
    buffer = memoryview(bytearray(CHUNK_BYTES))
    pieces: dict[int, bytes] = {}
    number, last, read = 1, max(numbers), 0
    while number <= last and read < limit and (size := stream.readinto(buffer)):
        chunk = bytes(buffer[:size])
        breaks = chunk.count(b"\n")
        if any(number <= n <= number + breaks for n in numbers):
            for n, piece in enumerate(chunk.split(b"\n"), number):
                if n in numbers:
                    pieces[n] = (pieces.get(n, b"") + piece)[:MAX_LINE_BYTES]
        number, read = number + breaks, read + size
    texts |= {(stream.name, n): _displayed_text(piece) for n, piece in pieces.items()}
    return read


def _displayed_text(raw: bytes) -> str:
    """Return a line without colours. Of a progress bar, return the last update."""
    text = strip_escapes(raw.decode("utf-8", "replace")).rstrip()
    return text.rpartition("\r")[2]


def _add_lines(evidence: Evidence, texts: LineTexts, lines: int) -> Evidence:
    file, number = evidence.line.file, evidence.line.number
    start = strip_escapes(evidence.line.text).strip()[:COMPARED_CHARS]
    current_text = texts.get((file, number))
    is_sentence = (
        current_text is not None
        and len(current_text.strip()) > MIN_SENTENCE_CHARS
        and evidence.line.text.startswith(f"{current_text} ")
    )
    if current_text is None or not (is_sentence or start.rstrip("…") in current_text):
        return evidence
    near = range(number - lines, number + lines + 1)
    known_lines = {} if is_sentence else {number: evidence.line}
    lines_around = {n: known_lines.get(n) or Line(file, n, texts[file, n]) for n in near if (file, n) in texts}
    while lines_around and not lines_around[max(lines_around)].text.strip() and max(lines_around) > number:
        del lines_around[max(lines_around)]
    return replace(evidence, around=tuple(lines_around.values()))

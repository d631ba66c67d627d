"""The lines above and below the evidence, read again from the logs once it is known which lines prove the answer.

The scan keeps no line that nobody asks for, so a report that shows what stands around a proof needs a second look.  It
is bounded, and it is left out where the input cannot be read twice (a pipe) or says something else by now.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from logdoctor.model import Cause, Diagnosis, Evidence, Job, Line, Stream, SymptomSeen
from logdoctor.parsers.escapes import without_escapes
from logdoctor.sources import Bounds, open_streams

MAX_EVIDENCE = 32
MAX_BYTES = 2 << 30
"""What is read again of all logs of a job: a report must not take longer than the diagnosis."""
CHUNK = 1 << 18
LINE_KEPT = 2000
"""Bytes that are kept of a line: the longest that a page shows."""
COMPARED = 60
"""So many characters of a proof must stand in the line that is read again."""

SENTENCE = 20
"""A line of so many characters may begin a proof that goes on in the lines below, which stand there anyway."""

Wanted = dict[str, set[int]]
Found = dict[tuple[str, int], str]


def with_context(diagnosis: Diagnosis, job: Job, bounds: Bounds, lines: int) -> Diagnosis:
    """The diagnosis with up to ``lines`` lines around each proof, where the logs can be read again."""
    paths = tuple(path for path in job.paths if isinstance(path, str) and _can_be_read_again(path))
    proofs = [*_proofs(diagnosis)][:MAX_EVIDENCE]
    if not paths or not proofs or lines < 1:
        return diagnosis
    wanted: Wanted = {}
    for one in proofs:
        near = range(max(one.line.number - lines, 1), one.line.number + lines + 1)
        wanted.setdefault(one.line.file, set()).update(near)
    found = _read(Job(job.name, paths), bounds, wanted)
    chosen = set(map(id, proofs))

    def around(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
        return tuple(_with_lines(one, found, lines) if id(one) in chosen else one for one in evidence)

    def of_cause(cause: Cause) -> Cause:
        return replace(cause, evidence=around(cause.evidence))

    def of_symptom(symptom: SymptomSeen) -> SymptomSeen:
        return replace(symptom, evidence=around(symptom.evidence))

    return replace(
        diagnosis,
        causes=tuple(map(of_cause, diagnosis.causes)),
        unexplained=around(diagnosis.unexplained),
        symptoms=tuple(map(of_symptom, diagnosis.symptoms)),
    )


def _proofs(diagnosis: Diagnosis) -> Iterator[Evidence]:
    """What a report quotes, the most telling first."""
    for cause in diagnosis.causes:
        yield from cause.evidence
    yield from diagnosis.unexplained
    for symptom in diagnosis.symptoms:
        yield from symptom.evidence[:1]


def _can_be_read_again(path: str) -> bool:
    """Whether ``path`` names files or folders: a pipe is empty by now, or waits for a writer for ever."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - `Path` would change the name
    except FileNotFoundError:
        return glob.has_magic(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _read(job: Job, bounds: Bounds, wanted: Wanted) -> Found:
    found: Found = {}
    left = MAX_BYTES
    missing = set(wanted)
    for stream in open_streams(job, [], bounds):
        if stream.name in missing:
            missing.discard(stream.name)
            left -= _read_lines(stream, wanted[stream.name], left, found)
        if not missing or left <= 0:
            break
    return found


def _read_lines(stream: Stream, numbers: set[int], most: int, found: Found) -> int:
    """Put the lines of these numbers into ``found``; gives how many bytes that took."""
    buffer = memoryview(bytearray(CHUNK))
    pieces: dict[int, bytes] = {}
    number, last, read = 1, max(numbers), 0
    while number <= last and read < most and (size := stream.readinto(buffer)):
        chunk = bytes(buffer[:size])
        breaks = chunk.count(b"\n")
        if any(number <= one <= number + breaks for one in numbers):
            for place, piece in enumerate(chunk.split(b"\n"), number):
                if place in numbers:
                    pieces[place] = (pieces.get(place, b"") + piece)[:LINE_KEPT]
        number, read = number + breaks, read + size
    found |= {(stream.name, one): _shown(piece) for one, piece in pieces.items()}
    return read


def _shown(raw: bytes) -> str:
    """A line for a reader: without colours, and of a progress bar only what it showed last."""
    text = without_escapes(raw.decode("utf-8", "replace")).rstrip()
    return text.rpartition("\r")[2]


def _with_lines(one: Evidence, found: Found, lines: int) -> Evidence:
    file, number = one.line.file, one.line.number
    start = without_escapes(one.line.text).strip()[:COMPARED]
    again = found.get((file, number))
    sentence = again is not None and len(again.strip()) > SENTENCE and one.line.text.startswith(f"{again} ")
    if again is None or not (sentence or start.rstrip("…") in again):
        return one
    near = range(number - lines, number + lines + 1)
    own = {} if sentence else {number: one.line}
    texts = {n: own.get(n) or Line(file, n, found[file, n]) for n in near if (file, n) in found}
    while texts and not texts[max(texts)].text.strip() and max(texts) > number:
        del texts[max(texts)]
    return replace(one, around=tuple(texts.values()))

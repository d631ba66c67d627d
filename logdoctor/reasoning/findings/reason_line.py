"""The line of a multi-line record that tells the reason, to be quoted as the proof.

A block has a headline, the reason, advice and an exit code, in any order. The reason names something: a path, a value,
an address, a signal or the text of an errno.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from logdoctor.model import Finding, Line, Record
from logdoctor.model.numbers import ZERO_DIGITS, number
from logdoctor.pack.regexes import later

SENTENCE_LINES = 2
"""Number of lines on which a sentence may continue."""
ENOUGH_TO_FIND = 24
"""Number of characters of a matched line that identify its place in the log.

The first line with that length is quoted. A line that ends with a colon only announces the next line.
"""
MATCHED, CHOSEN = 3, 2
"""Points of the line that the rule's expression matched, and of the line that the format chose."""
_POINTS = (
    (2, later(r"(?:^|[\s\"'(=:])(?:/|\./|~/|[A-Z]:\\)[\w.@+-]{2}")),
    (
        2,
        later(
            r"(?i)\berrno\b|no such (?:file|device|process)|permission denied|input/output error|no space left"
            r"|read-only file|connection (?:refused|reset|timed out)|no route to host|address already in use"
            r"|cannot allocate memory|\bSIG[A-Z]{3,4}\b|\((?:core dumped|signal \d+)\)"
        ),
    ),
    (1, later(r"\b(?:value|size|count|length|got|has|have|is|was|than|only|expected) (?:is |of )?-?\d")),
    (1, later(r"[\"'`‘<][\w./:+-]{2,80}[\"'`’>]|\b[A-Za-z][\w.-]{0,80}:\d{2,5}\b|\b\d{1,3}(?:\.\d{1,3}){3}\b")),
    (-1, later(r":\s*$")),
    (-3, later(r"(?i)\bexit ?(?:code|status)\b[ :=]*-?\d+|^\W*(?:time|host|rank|error_file) *:")),
)
"""Points of a line whose text fits the expression."""
_ADVICE = later(
    r"(?i)^\W*(?:note\b|hint\b|this (?:usually|should|is|may|typically)|you (?:may|can|should)|your (?:open mpi|job)"
    r"|please\b|check\b|either\b|try\b|if you|see\b|for more|to (?:enable|fix|solve)|consider\b|cleaning up"
    r"|for debugging)|<NO_OTHER_FAILURES>|^\W*$"
)
_FRAME = later(r"\bFile \"[^\"]{1,500}\", line \d+|most recent call last|^\W*\d+[.:]? +(?:0x|\w+\(\))")
"""Lines that tell no reason.  Only a rule may choose them."""
MAX_SHAPES = 1024
_PID = later(r"\bPID (\d{1,10})\b")


def quoted(finding: Finding) -> Iterator[Record]:
    """Yield the records of a finding, each with the line to quote as its line.

    The search for that line is slow, so it is made for the records of findings that are told, one by one.
    """
    for record, (start, end) in zip(finding.records, finding.spans, strict=True):
        yield with_reason_line(record, record.text[start:end]) if record.lines else record


def proof_of(finding: Finding) -> Record:
    """Return the decisive record, with the line to quote as its line."""
    return next(quoted(finding))


def with_reason_line(record: Record, matched: str) -> Record:
    """Make the line that tells the reason the record's line.

    ``matched`` is the text that the rule's expression matched, "" if it asked for the kind only. The format's choice
    then stands, unless it tells no reason.
    """
    if not matched and _judge(record.line.text)[0] >= 0:
        return record
    found = _line_with(record, matched)
    lines = {line.number: line for line in (record.line, *record.lines)}

    def points(line: Line) -> int:
        of_text, tells_no_reason = _judge(line.text)
        if line is not found and tells_no_reason:
            return -MATCHED
        told = _PID.search(line.text) if "PID " in line.text else None
        if told and record.fields.get("pid", pid := number(told[1])) != pid:
            return -MATCHED  # it is of another process of the block
        own = MATCHED * (line is found) + CHOSEN * (line.number == record.line.number)
        return own + of_text

    if found is not None and _FRAME.search(found.text):
        return replace(record, line=found)
    best = max([found, *lines.values()] if found else lines.values(), key=points)
    names_something = best is found or _judge(best.text)[0] > 0
    return replace(record, line=best) if names_something and best is not record.line else record


def _judge(text: str) -> tuple[int, bool]:
    """Return the points of a line, and whether it is advice or a frame.

    No expression asks for the value of a digit, and the ranks of a job print the same lines.
    """
    return _judge_shape(text.encode(errors="replace").translate(ZERO_DIGITS))


@lru_cache(MAX_SHAPES)
def _judge_shape(shape: bytes) -> tuple[int, bool]:
    text = shape.decode()
    points = sum(value for value, pattern in _POINTS if pattern.search(text))
    return points, bool(_ADVICE.search(text) or _FRAME.search(text))


def _line_with(record: Record, matched: str) -> Line | None:
    """Return the line with the matched text.

    The record's own line is tried before the other lines. The whole line is searched first, then its head, then its
    end.
    """
    if not matched:
        return None
    wanted = _decisive_line(matched)
    for part in (wanted, wanted[:40], wanted[-40:]):
        line = next((line for line in (record.line, *record.lines) if part and part in line.text), None)
        if line is not None:
            return line
    return None


def _decisive_line(matched: str) -> str:
    """Return the first long line of the matched text. A line without a colon at its end takes precedence."""
    lines = matched.splitlines()
    long = [line for line in lines if len(line.strip()) >= ENOUGH_TO_FIND]
    complete = [line for line in long if not line.rstrip().endswith(":")]
    return (complete or long or [max(lines, key=len, default="")])[0].strip()


def with_whole_sentence(record: Record) -> Record:
    """Join the lines on which the record's sentence continues.

    MPI wraps its messages: "... could not be" and "opened by the process" become one line. A line that ends with a
    colon announces the next: "... unable to open the hostfile:" and "/etc/mpi/machines".
    """
    joined, announced = record.line, False
    for line in record.lines:
        if not joined.number < line.number <= record.line.number + SENTENCE_LINES + announced:
            continue
        if joined.text.rstrip().endswith(":") and not announced:
            if not line.text.strip():
                continue
            announced = True
        elif not (joined.text[-1:].isalnum() and line.text[:1].islower()) or announced:
            break
        joined = Line(joined.file, line.number, f"{joined.text.rstrip()} {line.text.strip()}")
    return record if joined is record.line else replace(record, line=replace(record.line, text=joined.text))

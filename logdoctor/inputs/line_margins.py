"""Margins that a viewer or a copy put before every line.

Supported are the indentation of a pasted code block, quote marks and list marks.
Line numbers are those of ``cat -n``, ``nl``, ``grep -n ''``, editors and web pages.
The job and step names of ``gh run view --log`` are a margin too.
For example ``   117<TAB>Traceback ...`` becomes ``Traceback ...``.

A margin is detected if all lines at the beginning of the text have it.
Further down it is removed from the lines that have it.
"""

from __future__ import annotations

import re
from itertools import pairwise

from logdoctor.inputs.streams import ByteReader, Layer, peek

MAX_MARGINS = 3
"""Margins inside each other that are removed, for example line numbers in an indented block."""
MAX_WIDTH = 256
"""Maximum width of a margin, in bytes."""

_NUMBERS = rb" {0,12}\[?(\d{1,9})(\t|\] ?| ?\| ?|: ?|\. | {1,4}(?=\S|$))"
_COLUMN = rb" {0,12}(\d{1,9})( )"
"""Numbers that all end in the same column. Only one space after them belongs to the margin."""
_MARKS = (b"> ", b">", b"| ", "│ ".encode(), b"- ", b"* ", "• ".encode())
_MIN_MARKED = 3
_UNINDENTED = (
    rb"Traceback \(most recent|\[(?:rank|default)\d+\]|\[[EWF]\d{3,4} |[EWIF]\d{4} \d\d:"
    rb"|\[?20\d\d[-/]\d\d[-/]\d\d[ T]\d\d:|\w[\w.-]*:\d+:\d+ \[-?\d+\] |srun: |slurmstepd: |\[[\w.-]+:\d+\] "
    rb"|(?:\w+\.)*\w+(?:Error|Exception): |-{70,}\s*$|={70,}\s*$"
)
_JOB_STEP = rb"[^\t\n]{1,100}\t[^\t\n]{1,100}\t(?:\xef\xbb\xbf)?(?=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z )"
_MIN_NUMBERED = {b"\t": 3, b"|": 4}
"""Minimum number of numbered lines, by the mark after the number. ``3: `` may be a rank (see `_detect_numbers`)."""
_MIN_NUMBERED_OTHERWISE = 12
_MIN_NUMBERED_FROM_1 = 8
_MIN_NUMBERED_DISTINCT = 5
"""Applies if the first number cannot be the first rank of a node and no two messages are equal."""


class MarginStripper(Layer):
    """A text without its margin. All other bytes stay."""

    def __init__(self, reader: ByteReader, margin: bytes) -> None:
        """Strip the expression ``margin`` from the lines of ``reader``."""
        self._reader = reader
        self._margin = re.compile(rb"^(?:" + margin + rb")", re.MULTILINE)
        self._pending = self._ready = b""
        self._in_line = False
        """True if the next byte continues a line."""
        self._ended = False

    def read(self, size: int, /) -> bytes:
        while not self._ready and not self._ended:
            more = self._reader.read(max(size, MAX_WIDTH))
            self._ended = not more
            self._ready = self._strip(self._pending + (more or b""))
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _strip(self, data: bytes) -> bytes:
        """Return the next part of the text.

        An incomplete last line shorter than `MAX_WIDTH` is held back, because its margin may be incomplete.
        """
        last_line = data.rfind(b"\n") + 1
        at_line_start = bool(last_line) or not self._in_line
        if not self._ended and at_line_start and len(data) - last_line < MAX_WIDTH:
            data, self._pending = data[:last_line], data[last_line:]
        else:
            self._pending = b""
        line_rest = data.find(b"\n") + 1 or len(data) if self._in_line else 0
        if data:
            self._in_line = not data.endswith(b"\n")
        return data[:line_rest] + self._margin.sub(b"", data[line_rest:]) if line_rest < len(data) else data


def strip_margins(reader: ByteReader) -> ByteReader:
    """Return ``reader`` without the margins before all its lines."""
    head, reader = peek(reader)
    for _ in range(MAX_MARGINS):
        margin = detect_margin(head)
        if not margin:
            break
        head, reader = peek(MarginStripper(reader, margin))
    return reader


def detect_margin(head: bytes) -> bytes:
    """Return the expression of the margin before all lines of ``head``. Return ``b""`` if there is none."""
    if head[:1] not in b" \t[0123456789>|-*\xe2" and b"\t" not in head[:MAX_WIDTH]:
        return b""
    end = head.count(b"\n") if not head.endswith(b"\n") else None
    lines = [line for line in head.split(b"\n")[:end] if line.strip()]
    return _detect_numbers(lines) or _detect_job_step(lines) or _detect_indent(lines) or _detect_marks(lines)


def _detect_numbers(lines: list[bytes]) -> bytes:
    """Detect numbers that grow by one from line to line.

    Ranks before lines (``3: step 7``) may appear in order as well.
    So many lines must be numbered and the first number must not be 0.
    A tab or a bar after the number makes it a line number at once.
    """
    matches, margin = [re.match(_NUMBERS, line) for line in lines], _NUMBERS
    column = [re.match(_COLUMN, line) for line in lines]
    if lines[:1] and lines[0][:1] == b" " and all(column) and len({match.end() for match in column if match}) == 1:
        matches, margin = column, _COLUMN
    if len(lines) < min(_MIN_NUMBERED.values()) or not all(matches):
        return b""
    numbers = [int(match[1]) for match in matches if match]
    marks = {match[2].strip(b" ") for match in matches if match}
    minimum = _MIN_NUMBERED_FROM_1 if numbers[0] == 1 else _MIN_NUMBERED_OTHERWISE
    messages = {line[match.end() :] for line, match in zip(lines, matches, strict=True) if match}
    if numbers[0] > 8 and numbers[0] % 4 and len(messages) == len(lines):
        minimum = _MIN_NUMBERED_DISTINCT
    minimum = _MIN_NUMBERED.get(min(marks), minimum)
    consecutive = all(b == a + 1 for a, b in pairwise(numbers))
    may_be_ranks = minimum >= _MIN_NUMBERED_FROM_1 and not numbers[0]
    return margin if consecutive and len(marks) == 1 and len(lines) >= minimum and not may_be_ranks else b""


def _detect_job_step(lines: list[bytes]) -> bytes:
    """Detect ``job TAB step TAB`` before the time stamp of GitHub Actions."""
    return _JOB_STEP if lines and all(re.match(_JOB_STEP, line) for line in lines) else b""


def _detect_indent(lines: list[bytes]) -> bytes:
    """Detect a tab, or four spaces and multiples of four.

    Fewer spaces count only if a line that programs never indent follows them, as in a pasted list item. A program may
    begin all its lines with one or two spaces.
    """
    if len(lines) < 2:
        return b""
    if lines[0].startswith(b"\t"):
        return rb"\t" if all(line.startswith(b"\t") for line in lines) else b""
    width = min(len(line) - len(line.lstrip(b" ")) for line in lines)
    if width < 4 and width and any(re.match(_UNINDENTED, line[width:]) for line in lines):
        return rb" {%d}" % width
    return rb" {%d}" % (width // 4 * 4) if width >= 4 else b""


def _detect_marks(lines: list[bytes]) -> bytes:
    """Detect marks of quotes, lists and boxes. Table lines, which end with the mark too, do not count."""
    for mark in _MARKS:
        bare_mark = mark.rstrip()
        if all(line.startswith(mark) or line.rstrip() == bare_mark for line in lines):
            text = [line[len(bare_mark) :].strip() for line in lines]
            boxed = bare_mark != b">" and any(line.endswith(bare_mark) for line in text)
            is_margin = sum(map(bool, text)) >= _MIN_MARKED and not boxed
            return re.escape(mark) + rb"|" + re.escape(bare_mark) + rb"(?=\r?$)" if is_margin else b""
    return b""

"""What a viewer or a copy put in front of every line of a text: taken off again, so that the text is as it was printed.

Known are the indentation of a pasted code block, running line numbers (``cat -n``, ``nl``, ``grep -n ''``, editors and
pages that show code), and the names of job and step that ``gh run view --log`` sets before each line.  A margin is told
by the lines at the beginning of the text, which all must have it; further down it is taken off where it stands.
"""

from __future__ import annotations

import re
from itertools import pairwise

from logdoctor.sources.layers import Layer, Source, look

MOST = 3
"""So many margins may stand within each other, as numbers in an indented block do."""
WIDEST = 256
"""A margin is never as wide, in bytes."""

_NUMBERS = rb" {0,12}\[?(\d{1,9})(\t|\] ?| ?\| ?|: ?|\. | {1,4}(?=\S|$))"
_COLUMN = rb" {0,12}(\d{1,9})( )"
"""Numbers that all end in the same column: the blanks behind the first are the line's own."""
_MARKS = (b"> ", b">", b"| ", "│ ".encode(), b"- ", b"* ", "• ".encode())
_ENOUGH_MARKED = 3
_NEVER_INDENTED = (
    rb"Traceback \(most recent|\[(?:rank|default)\d+\]|\[[EWF]\d{3,4} |[EWIF]\d{4} \d\d:"
    rb"|\[?20\d\d[-/]\d\d[-/]\d\d[ T]\d\d:|\w[\w.-]*:\d+:\d+ \[-?\d+\] |srun: |slurmstepd: |\[[\w.-]+:\d+\] "
    rb"|(?:\w+\.)*\w+(?:Error|Exception): |-{70,}\s*$|={70,}\s*$"
)
_STEP = rb"[^\t\n]{1,100}\t[^\t\n]{1,100}\t(?:\xef\xbb\xbf)?(?=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z )"
_ENOUGH = {b"\t": 3, b"|": 4}
"""So many lines tell running numbers by what stands behind them.  ``3: `` may also be a rank: see `_numbered`."""
_ENOUGH_OTHERWISE = 12
_ENOUGH_FROM_ONE = 8
_ENOUGH_FROM_WITHIN = 5
"""From a number with which no node's ranks begin, if no two lines say the same."""


class WithoutMargin(Layer):
    """A text without its margin; every other byte stays as it is."""

    def __init__(self, source: Source, margin: bytes) -> None:
        """Read ``source``, of which each line may begin with the expression ``margin``."""
        self._source = source
        self._margin = re.compile(rb"^(?:" + margin + rb")", re.MULTILINE)
        self._held = self._ready = b""
        self._within = False
        """Whether what is held begins within a line."""
        self._ended = False

    def read(self, size: int, /) -> bytes:
        """See `Source.read`."""
        while not self._ready and not self._ended:
            more = self._source.read(max(size, WIDEST))
            self._ended = not more
            self._ready = self._taken_off(self._held + (more or b""))
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _taken_off(self, data: bytes) -> bytes:
        """The next part of the text; the beginning of a line is held back until its margin is sure to be there."""
        last = data.rfind(b"\n") + 1
        begun_anew = bool(last) or not self._within
        if not self._ended and begun_anew and len(data) - last < WIDEST:
            data, self._held = data[:last], data[last:]
        else:
            self._held = b""
        first = data.find(b"\n") + 1 or len(data) if self._within else 0
        if data:
            self._within = not data.endswith(b"\n")
        return data[:first] + self._margin.sub(b"", data[first:]) if first < len(data) else data


def without_margins(source: Source) -> Source:
    """``source`` without what stands in front of all its lines."""
    head, source = look(source)
    for _ in range(MOST):
        margin = margin_of(head)
        if not margin:
            break
        head, source = look(WithoutMargin(source, margin))
    return source


def margin_of(head: bytes) -> bytes:
    """The expression of the margin of a text that begins with ``head``; nothing where it has none."""
    if head[:1] not in b" \t[0123456789>|-*\xe2" and b"\t" not in head[:WIDEST]:
        return b""
    whole = head.count(b"\n") if not head.endswith(b"\n") else None
    lines = [line for line in head.split(b"\n")[:whole] if line.strip()]
    return _numbered(lines) or _step(lines) or _indented(lines) or _marked(lines)


def _numbered(lines: list[bytes]) -> bytes:
    """Numbers that grow by one from line to line.

    Ranks stand in front of lines as well, and may happen to speak in their order: without a tab or a bar many lines
    must be numbered, and not from 0 on.
    """
    found, margin = [re.match(_NUMBERS, line) for line in lines], _NUMBERS
    column = [re.match(_COLUMN, line) for line in lines]
    if lines[:1] and lines[0][:1] == b" " and all(column) and len({hit.end() for hit in column if hit}) == 1:
        found, margin = column, _COLUMN
    if len(lines) < min(_ENOUGH.values()) or not all(found):
        return b""
    numbers = [int(hit[1]) for hit in found if hit]
    marks = {hit[2].strip(b" ") for hit in found if hit}
    enough = _ENOUGH_FROM_ONE if numbers[0] == 1 else _ENOUGH_OTHERWISE
    said = {line[hit.end() :] for line, hit in zip(lines, found, strict=True) if hit}
    if numbers[0] > 8 and numbers[0] % 4 and len(said) == len(lines):
        enough = _ENOUGH_FROM_WITHIN
    enough = _ENOUGH.get(min(marks), enough)
    running = all(b == a + 1 for a, b in pairwise(numbers))
    like_ranks = enough >= _ENOUGH_FROM_ONE and not numbers[0]
    return margin if running and len(marks) == 1 and len(lines) >= enough and not like_ranks else b""


def _step(lines: list[bytes]) -> bytes:
    """``job TAB step TAB``, before the time stamp of the service."""
    return _STEP if lines and all(re.match(_STEP, line) for line in lines) else b""


def _indented(lines: list[bytes]) -> bytes:
    """A tab, or four spaces and their multiples: lines of a program may all begin with one or two of their own.

    Fewer spaces are a margin where behind them stands what no program indents: the item of a list holds a copy.
    """
    if len(lines) < 2:
        return b""
    if lines[0].startswith(b"\t"):
        return rb"\t" if all(line.startswith(b"\t") for line in lines) else b""
    width = min(len(line) - len(line.lstrip(b" ")) for line in lines)
    if width < 4 and width and any(re.match(_NEVER_INDENTED, line[width:]) for line in lines):
        return rb" {%d}" % width
    return rb" {%d}" % (width // 4 * 4) if width >= 4 else b""


def _marked(lines: list[bytes]) -> bytes:
    """What quotes, lists and boxes put in front; not the lines of a table, which end as they begin."""
    for mark in _MARKS:
        bare = mark.rstrip()
        if all(line.startswith(mark) or line.rstrip() == bare for line in lines):
            text = [line[len(bare) :].strip() for line in lines]
            boxed = bare != b">" and any(line.endswith(bare) for line in text)
            enough = sum(map(bool, text)) >= _ENOUGH_MARKED and not boxed
            return re.escape(mark) + rb"|" + re.escape(bare) + rb"(?=\r?$)" if enough else b""
    return b""

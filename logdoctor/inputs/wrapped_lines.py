"""Lines that a terminal broke at its width, joined again.

A text counts as wrapped if many different lines have exactly the width of its longest line.
Most of the lines after these must begin unlike other lines, because they are continuations.
Lines of one kind that are alike in length are left alone.
So are logs of a service that cuts long lines off, because complete lines follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.inputs.streams import ByteReader, Layer, peek

MIN_WIDTH, MAX_WIDTH = 60, 500
MAX_BYTES = 4 * MAX_WIDTH + 1
"""Bytes of the longest line that may be wrapped, with a carriage return."""
"""Widths of terminals, in characters."""
_HEAD_BYTES = 1 << 16
_MIN_FULL = 3
"""Minimum number of lines that are as long as the longest."""
_MIN_SHARE = 0.12
"""Minimum share of such lines among all lines."""
_MIN_SHARE_DISTINCT = 0.02
"""Minimum share if no continuation begins like other lines and one more kind of line is full."""
_MAX_PIECES = 200
"""Maximum number of full pieces that are joined to one line."""
_START_CHARS = 6
_COLUMN_GAP = b"   "
"""Two neighbouring lines with such a gap may be table rows, which all have the same length."""
_RULER_CHARACTERS = 6
"""A line with at most this many different characters is a ruler."""


class LineJoiner(Layer):
    """A text whose lines of exactly ``width`` characters continue below.

    A joined line is followed by one empty line for each lost line end, so that other lines keep their numbers.
    """

    def __init__(self, reader: ByteReader, width: int) -> None:
        self._reader, self._width = reader, width
        self._lines = self._join()
        self._buffer = b""

    def read(self, size: int, /) -> bytes:
        while len(self._buffer) < size and (line := next(self._lines, b"")):
            self._buffer += line
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def _join(self) -> Iterator[bytes]:
        pieces = list[bytes]()
        for line in self._split_lines():
            text = line.rstrip(b"\r\n")
            if _char_count(text) == self._width and not _is_drawn(text) and len(pieces) < _MAX_PIECES and text != line:
                pieces.append(text)
                continue
            yield b"".join(pieces) + line + b"\n" * len(pieces)
            pieces.clear()
        if pieces:
            yield b"".join(pieces) + b"\n" * len(pieces)

    def _split_lines(self) -> Iterator[bytes]:
        """Yield lines with their ends. A very long line comes in parts longer than any width."""
        rest = b""
        while more := self._reader.read(1 << 16):
            *lines, rest = (rest + more).split(b"\n")
            yield from (line + b"\n" for line in lines)
            if len(rest) > 8 * MAX_WIDTH:
                yield rest
                rest = b""
        if rest:
            yield rest


def join_wrapped_lines(reader: ByteReader) -> ByteReader:
    """Return ``reader`` with its wrapped lines joined, if it has such lines."""
    head, reader = peek(reader, _HEAD_BYTES)
    width = detect_width(head)
    return LineJoiner(reader, width) if width else reader


def detect_width(head: bytes) -> int:
    """Return the width in characters of wrapped lines, 0 for none."""
    lines = head.split(b"\n")[:-1]
    if max(map(len, lines), default=0) > MAX_BYTES:
        return 0
    lines = [line.rstrip(b"\r") for line in lines]
    lengths = [_char_count(line) for line in lines]
    width = max(lengths, default=0)
    if not MIN_WIDTH <= width <= MAX_WIDTH:
        return 0
    full_lines = [n for n in range(len(lines) - 1) if lengths[n] == width and not _is_tabular(lines[n], lines[n + 1])]
    if len(full_lines) < max(_MIN_FULL, _MIN_SHARE_DISTINCT * len(lines)):
        return 0
    line_starts = {_start(lines[n]) for n in range(len(lines)) if n - 1 not in full_lines and lines[n].strip()}
    continuations = [lines[n + 1] for n in full_lines]
    distinct = len({(_start(lines[n]), _start(lines[n + 1])) for n in full_lines})
    like_others = sum(_start(line) in line_starts for line in continuations)
    indented = sum(line[:1] in (b" ", b"\t", b"") for line in continuations)
    rare = len(full_lines) < _MIN_SHARE * len(lines)
    is_wrapped = (
        distinct > _MIN_FULL and not like_others
        if rare
        else distinct >= _MIN_FULL and like_others <= len(full_lines) / 4
    )
    return width if is_wrapped and indented <= len(full_lines) / 2 else 0


def _char_count(line: bytes) -> int:
    return len(line) if line.isascii() else len(line.decode("utf-8", "replace"))


def _start(line: bytes) -> bytes:
    """Return the start of a line, with numbers replaced by 0. Lines of one kind have the same start."""
    return re.sub(rb"[0-9a-f]*\d[0-9a-f]*", b"0", line[:_START_CHARS])


def _is_tabular(line: bytes, next_line: bytes) -> bool:
    return _is_drawn(line) or (_COLUMN_GAP in line and _COLUMN_GAP in next_line)


def _is_drawn(line: bytes) -> bool:
    """Report whether the line belongs to a ruler, box or table."""
    return (
        len(set(line)) <= _RULER_CHARACTERS
        or (line[:1] == line[-1:] and not line[:1].isalnum())
        or line.endswith(b"...")
    )

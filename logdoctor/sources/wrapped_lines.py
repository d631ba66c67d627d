"""Lines that a terminal broke at its width, and that were copied so: joined again.

A text counts as broken if no line at its beginning is longer than a width that many lines of different kinds have
exactly, and if what follows these lines begins otherwise than the lines that begin anew: lines of one kind are alike in
length, and a service that cuts long lines off has whole lines after them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.sources.layers import Layer, Source, look

NARROWEST, WIDEST = 60, 500
"""Widths of terminals, in characters."""
_LOOKED_AT = 1 << 16
_FEWEST = 3
"""So many lines must be as long as the longest, and more than this share of all:"""
_SHARE = 0.12
_SMALLER_SHARE = 0.02
"""Enough where none of the lines below them begins like others, and one more is of another kind."""
_PIECES = 200
"""A line was broken into no more."""
_BEGINNING = 6
_COLUMNS = b"   "
"""Two lines with this in them may be rows of a table, which all are as long."""
_RULER = 6
"""A line of so few different characters is drawn."""


class Unwrapped(Layer):
    """A text whose lines of ``width`` characters go on in the next line.

    Behind each that was joined stand as many empty lines as it lost line ends: all others keep their numbers.
    """

    def __init__(self, source: Source, width: int) -> None:
        """Read ``source``."""
        self._source, self._width = source, width
        self._lines = self._joined()
        self._ready = b""

    def read(self, size: int, /) -> bytes:
        """See `Source.read`."""
        while len(self._ready) < size and (line := next(self._lines, b"")):
            self._ready += line
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _joined(self) -> Iterator[bytes]:
        pieces = list[bytes]()
        for line in self._physical():
            text = line.rstrip(b"\r\n")
            if _characters(text) == self._width and not _drawn(text) and len(pieces) < _PIECES and text != line:
                pieces.append(text)
                continue
            yield b"".join(pieces) + line + b"\n" * len(pieces)
            pieces.clear()
        if pieces:
            yield b"".join(pieces) + b"\n" * len(pieces)

    def _physical(self) -> Iterator[bytes]:
        """The lines with their ends; of a long one several parts, which are no lines of the width."""
        held = b""
        while more := self._source.read(1 << 16):
            *lines, held = (held + more).split(b"\n")
            yield from (line + b"\n" for line in lines)
            if len(held) > 8 * WIDEST:
                yield held
                held = b""
        if held:
            yield held


def unwrapped(source: Source) -> Source:
    """``source`` with its lines joined again where a terminal broke them."""
    head, source = look(source, _LOOKED_AT)
    width = width_of(head)
    return Unwrapped(source, width) if width else source


def width_of(head: bytes) -> int:
    """The width in characters at which the lines were broken of a text that begins with ``head``; 0 for none."""
    lines = [line.rstrip(b"\r") for line in head.split(b"\n")[:-1]]
    lengths = [_characters(line) for line in lines]
    width = max(lengths, default=0)
    if not NARROWEST <= width <= WIDEST:
        return 0
    full = [n for n in range(len(lines) - 1) if lengths[n] == width and not _tabular(lines[n], lines[n + 1])]
    if len(full) < max(_FEWEST, _SMALLER_SHARE * len(lines)):
        return 0
    anew = {_beginning(lines[n]) for n in range(len(lines)) if n - 1 not in full and lines[n].strip()}
    below = [lines[n + 1] for n in full]
    different = len({(_beginning(lines[n]), _beginning(lines[n + 1])) for n in full})
    like_others = sum(_beginning(line) in anew for line in below)
    indented = sum(line[:1] in (b" ", b"\t", b"") for line in below)
    rare = len(full) < _SHARE * len(lines)
    told = different > _FEWEST and not like_others if rare else different >= _FEWEST and like_others <= len(full) / 4
    return width if told and indented <= len(full) / 2 else 0


def _characters(line: bytes) -> int:
    return len(line) if line.isascii() else len(line.decode("utf-8", "replace"))


def _beginning(line: bytes) -> bytes:
    """How a line of its kind begins."""
    return re.sub(rb"[0-9a-f]*\d[0-9a-f]*", b"0", line[:_BEGINNING])


def _tabular(line: bytes, below: bytes) -> bool:
    return _drawn(line) or (_COLUMNS in line and _COLUMNS in below)


def _drawn(line: bytes) -> bool:
    """Whether the line is a ruler, or one of a box or a table."""
    return len(set(line)) <= _RULER or (line[:1] == line[-1:] and not line[:1].isalnum()) or line.endswith(b"...")

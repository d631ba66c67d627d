"""The start and end of the line around a hit.

A carriage return ends a line too, because progress bars overwrite themselves.
"""

from __future__ import annotations

MAX_LINE_BYTES = 16 << 10
"""A longer line is cut to this many bytes around the hit."""
NEWLINE_STAND_IN = 0x0B
"""Byte that replaces a newline in a text of several lines that is searched as one (see `Matcher.match`)."""
_HALF = MAX_LINE_BYTES // 2


def line_bounds(text: bytes | bytearray, hit: int, end: int) -> tuple[int, int]:
    r"""Return start and end of the line around a match.

    The match ends at ``hit``. A line is the text between two line breaks (``\n`` or ``\r``).
    ``end`` is the end of ``text``. Of a long line the part around the hit is returned.
    """
    lowest, highest = max(0, hit - _HALF), min(end, hit + _HALF)
    start = text.rfind(b"\n", lowest, hit) + 1 or lowest
    start = text.rfind(b"\r", start, hit) + 1 or start
    stop = text.find(b"\n", hit, highest)
    stop = highest if stop < 0 else stop
    generation = text.find(b"\r", hit, stop)
    return start, stop if generation < 0 else generation

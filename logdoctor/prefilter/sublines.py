"""Where a line begins and ends around a hit.  A carriage return ends a line too: progress bars overprint themselves."""

from __future__ import annotations

LONG = 16 << 10
"""A line longer than this is cut to so many bytes around the hit."""
FLAT = 0x0B
"""The byte that stands for a newline where a text of several lines is searched as one (see `Prefilter.match`)."""
_HALF = LONG // 2


def bounds(text: bytes | bytearray, hit: int, end: int) -> tuple[int, int]:
    r"""Start and end of the piece between two line breaks (``\n`` or ``\r``) that the match ending at ``hit`` is in.

    ``end`` is where ``text`` ends for this purpose.  A long line gives the part around the hit.
    """
    lowest, highest = max(0, hit - _HALF), min(end, hit + _HALF)
    start = text.rfind(b"\n", lowest, hit) + 1 or lowest
    start = text.rfind(b"\r", start, hit) + 1 or start
    stop = text.find(b"\n", hit, highest)
    stop = highest if stop < 0 else stop
    turn = text.find(b"\r", hit, stop)
    return start, stop if turn < 0 else turn

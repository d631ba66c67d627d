"""Shapes of lines that tell nothing: what many lines of one shape did not tell, the next one does not tell either.

A healthy job may print thousands of lines a minute that hold a word of failures (``0 failed, 0 errors``).  The scan
picks each of them, and looking closely at one costs a hundred times as much as picking it.
"""

from __future__ import annotations

import regex

ENOUGH = 128
"""So many lines of a shape are looked at."""
MOST = 512
"""So many shapes are counted; more are none."""
_DIGITS = bytes.maketrans(b"23456789", b"1" * 8)
_NUMBER = regex.compile(rb"(?<![01])0*1[01]*")


class MuteShapes:
    """Counts, for one file, the lines of each shape in which there was no record, and no symptom that counts."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._counts: dict[bytes, int] = {}

    def tells_nothing(self, raw: bytes) -> bool:
        """Whether enough lines like ``raw``, which differ in numbers alone, told nothing."""
        return bool(self._counts) and self._counts.get(shape(raw), 0) >= ENOUGH

    def note(self, raw: bytes) -> None:
        """The line ``raw`` told nothing."""
        seen = shape(raw)
        if seen in self._counts or len(self._counts) < MOST:
            self._counts[seen] = self._counts.get(seen, 0) + 1


def shape(raw: bytes) -> bytes:
    """The line with all numbers but zero made one: with ``1 failed`` it tells something else than with ``0 failed``."""
    return bytes(_NUMBER.sub(b"1", raw.translate(_DIGITS)))

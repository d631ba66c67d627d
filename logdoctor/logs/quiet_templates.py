"""Skip line templates that never produced a record.

A healthy job may print thousands of lines a minute that hold an error word (``0 failed, 0 errors``).  The scan picks
each of them, and to parse a line costs 100 times as much as to pick it.  After 64 such lines, lines of the same
template are not parsed.
"""

from __future__ import annotations

import regex

QUIET_AFTER = 64
"""Parse this many lines of a template before its lines are skipped."""
MAX_TEMPLATES = 512
"""Count at most this many templates."""
_DIGITS = bytes.maketrans(b"23456789", b"1" * 8)
_NUMBER = regex.compile(rb"(?<![01])0*1[01]*")


class MuteShapes:
    """Counter of the lines of one file that gave nothing, by template."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}

    def is_quiet(self, raw: bytes) -> bool:
        """Return True if enough lines of this template were counted."""
        return bool(self._counts) and self._counts.get(template(raw), 0) >= QUIET_AFTER

    def count(self, raw: bytes) -> None:
        """Count a line that gave no record."""
        key = template(raw)
        if key in self._counts or len(self._counts) < MAX_TEMPLATES:
            self._counts[key] = self._counts.get(key, 0) + 1


def template(raw: bytes) -> bytes:
    """Replace each number except 0 by 1.

    Example: ``step 17: 0 failed`` -> ``step 1: 0 failed``.  Zero stays, because ``0 failed`` and ``3 failed`` differ in
    meaning.
    """
    return bytes(_NUMBER.sub(b"1", raw.translate(_DIGITS)))

"""The buffer that a scan slides over its input, window by window.

``buffer[0:end]`` is filled. ``buffer[0:cut]`` is the window to scan, ``buffer[cut:end]`` waits for the next window.
A window holds whole lines, unless a line is longer than the window. Then two windows overlap.
Matches that end in ``(own_start, own_end]`` belong to this window.
So of two overlapping windows only one reports a match, the window with more text around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from logdoctor.matcher.sublines import MAX_LINE_BYTES

WINDOW_BYTES = 256 << 10
"""Bytes of a window. 128 to 256 KiB are fastest (they fit the second-level cache)."""
FOLLOWING_LINES = 400
FOLLOWING_BYTES = 64 << 10
_CAPACITY = 2 * WINDOW_BYTES + FOLLOWING_BYTES + 2 * MAX_LINE_BYTES

ReadInto = Callable[[memoryview], int]


class Window:
    """Read an input once, from start to end, in fixed memory."""

    def __init__(self, readinto: ReadInto) -> None:
        self._readinto = readinto
        self.buffer = bytearray(_CAPACITY)
        self.view = memoryview(self.buffer)
        self.end = self.cut = self.own_start = self.own_end = 0
        self.generation = 0
        """Number of the current window. Positions are valid in one window only."""
        self.bytes = 0
        """Bytes read so far."""
        self.at_end = False
        """True after the last byte was read."""

    @property
    def is_last(self) -> bool:
        return self.at_end and self.cut == self.end

    def advance(self, *, ahead: bool) -> bool:
        """Go to the next window. Return False at the end.

        With ``ahead`` a second window is read as well, so that the last window is not too small.
        """
        self._drop_scanned()
        self._read_until(2 * WINDOW_BYTES if ahead else WINDOW_BYTES)
        self._choose_cut(min(self.end, WINDOW_BYTES) if ahead and not self.at_end else self.end)
        self.generation += 1
        return self.end > 0

    def _drop_scanned(self) -> None:
        """Move unscanned bytes to the front. Of an overlong line the overlap stays."""
        overlap = self.cut - self.own_end
        keep_from = max(0, self.own_end - MAX_LINE_BYTES // 2) if overlap else self.cut
        remaining = self.end - keep_from
        if remaining and keep_from:
            self.buffer[:remaining] = self.buffer[keep_from : self.end]
        self.own_start = self.own_end - keep_from if overlap else 0
        self.end = remaining

    def _read_until(self, target: int) -> None:
        while self.end < target and not self.at_end:
            count = self._readinto(self.view[self.end : target])
            self.at_end = count == 0
            self.end += count
            self.bytes += count

    def _choose_cut(self, end: int) -> None:
        """Cut after the last line break. Cut an overlong line anywhere, with an overlap."""
        if self.at_end:
            self.cut = self.own_end = self.end
            return
        line_break = self.buffer.rfind(b"\n", self.own_start, end)
        if line_break < 0:
            line_break = self.buffer.rfind(b"\r", self.own_start, end)
        self.cut = line_break + 1 or end
        self.own_end = self.cut if line_break >= 0 else end - MAX_LINE_BYTES // 2

    def lines_below(self, position: int, generation: int) -> Iterator[bytes]:
        """Yield the lines below ``position`` while the scan stays in window ``generation``.

        Further bytes are read if the window ends. They are scanned with the next window.
        At most `FOLLOWING_LINES` lines and `FOLLOWING_BYTES` bytes are returned. A huge line is cut.
        """
        start = self._line_end(position, position + FOLLOWING_BYTES) if generation == self.generation else -1
        limit = start + 1 + FOLLOWING_BYTES
        for _ in range(FOLLOWING_LINES):
            if start < 0 or generation != self.generation or start + 1 >= limit:
                return
            start += 1
            newline = self._line_end(start, limit)
            end = newline if newline >= 0 else min(self.end, limit)
            if end == start and newline < 0:
                return
            yield bytes(self.view[start : min(end, start + MAX_LINE_BYTES)]).removesuffix(b"\r")
            start = newline

    def _line_end(self, start: int, limit: int) -> int:
        """Return the end of the line at ``start``, else -1.

        The end is -1 if it lies beyond ``limit``. Bytes are read as far as needed.
        """
        searched_to, limit = start, min(limit, _CAPACITY)
        while (newline := self.buffer.find(b"\n", searched_to, min(self.end, limit))) < 0:
            searched_to = self.end
            if self.at_end or searched_to >= limit:
                return -1
            self._read_until(min(self.end + MAX_LINE_BYTES, _CAPACITY))
        return newline

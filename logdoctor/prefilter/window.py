r"""The buffer that a scan slides over its input, one window of whole lines after the other.

Layout: ``buffer[0:end]`` is filled, ``buffer[0:cut]`` is the window to be scanned, ``buffer[cut:end]`` waits for the
next.  Matches that end in ``(shown_from, shown_to]`` belong to this window: only where a line is longer than the window
do two windows overlap, and then each match is shown by the one that has more text around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from logdoctor.prefilter.sublines import LONG

SIZE = 256 << 10
"""Bytes of a window: 128 to 256 KiB measured best (fits the second-level cache)."""
FOLLOWING_LINES = 400
FOLLOWING_BYTES = 64 << 10
_CAPACITY = 2 * SIZE + FOLLOWING_BYTES + 2 * LONG

ReadInto = Callable[[memoryview], int]


class Window:
    """Reads an input once, from start to end, in fixed memory."""

    def __init__(self, readinto: ReadInto) -> None:
        self._readinto = readinto
        self.buffer = bytearray(_CAPACITY)
        self.view = memoryview(self.buffer)
        self.end = self.cut = self.shown_from = self.shown_to = 0
        self.turn = 0
        """Counts the windows: positions are good for one turn."""
        self.bytes = 0
        """Bytes read so far."""
        self.at_end = False
        """The input gave its last byte."""

    @property
    def is_last(self) -> bool:
        """Whether this window reaches the end of the input."""
        return self.at_end and self.cut == self.end

    def advance(self, *, ahead: bool) -> bool:
        """Go to the next window; False at the end.

        With ``ahead`` a second window's worth is read as well, so that the last window is no mere scrap.
        """
        self._drop_scanned()
        self._read_until(2 * SIZE if ahead else SIZE)
        self._choose_cut(min(self.end, SIZE) if ahead and not self.at_end else self.end)
        self.turn += 1
        return self.end > 0

    def _drop_scanned(self) -> None:
        """Move what waits to the front; of an overlong line the overlap stays."""
        overlap = self.cut - self.shown_to
        keep_from = max(0, self.shown_to - LONG // 2) if overlap else self.cut
        rest = self.end - keep_from
        if rest and keep_from:
            self.buffer[:rest] = self.buffer[keep_from : self.end]
        self.shown_from = self.shown_to - keep_from if overlap else 0
        self.end = rest

    def _read_until(self, wanted: int) -> None:
        while self.end < wanted and not self.at_end:
            got = self._readinto(self.view[self.end : wanted])
            self.at_end = got == 0
            self.end += got
            self.bytes += got

    def _choose_cut(self, end: int) -> None:
        """Cut after the last line break; an overlong line is cut anywhere, with an overlap."""
        if self.at_end:
            self.cut = self.shown_to = self.end
            return
        brk = self.buffer.rfind(b"\n", self.shown_from, end)
        if brk < 0:
            brk = self.buffer.rfind(b"\r", self.shown_from, end)
        self.cut = brk + 1 or end
        self.shown_to = self.cut if brk >= 0 else end - LONG // 2

    def lines_below(self, position: int, turn: int) -> Iterator[bytes]:
        """The lines below the one at ``position``, as long as the scan stands in the window of that ``turn``.

        Reads on where the window ends; what is read is scanned with the next window.  At most `FOLLOWING_LINES` and
        `FOLLOWING_BYTES`; a huge line is cut.
        """
        start = self._line_end(position, position + FOLLOWING_BYTES) if turn == self.turn else -1
        most = start + 1 + FOLLOWING_BYTES
        for _ in range(FOLLOWING_LINES):
            if start < 0 or turn != self.turn or start + 1 >= most:
                return
            start += 1
            stop = self._line_end(start, most)
            end = stop if stop >= 0 else min(self.end, most)
            if end == start and stop < 0:
                return
            yield bytes(self.view[start : min(end, start + LONG)]).removesuffix(b"\r")
            start = stop

    def _line_end(self, start: int, most: int) -> int:
        """Where the line ends that begins at ``start``, reading on as far as ``most``; -1 if that is not far enough."""
        seen, most = start, min(most, _CAPACITY)
        while (found := self.buffer.find(b"\n", seen, min(self.end, most))) < 0:
            seen = self.end
            if self.at_end or seen >= most:
                return -1
            self._read_until(min(self.end + LONG, _CAPACITY))
        return found

"""The scan of one input: windows in, candidate lines out, in file order."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from logdoctor.model import Candidate
from logdoctor.prefilter.engine import ID_BITS, ID_MASK, Session
from logdoctor.prefilter.flood import Floods
from logdoctor.prefilter.naming import Naming
from logdoctor.prefilter.newlines import NewlineCounter
from logdoctor.prefilter.sublines import bounds
from logdoctor.prefilter.window import ReadInto, Window

TAIL = 32 << 10
"""Bytes at the end of a stream that may show what earlier streams were full of."""
AFRESH = 1024
"""So many hits behind the end of a run are looked at for signs that another one began."""
TOGETHER = 64
"""So many lines are named in a row, at most."""


class _Picked(NamedTuple):
    """A line that the scan picked: its first hit, where it is in the window, and the patterns that it holds."""

    hit: int
    start: int
    end: int
    raw: bytes
    ids: tuple[int, ...]


class Scan:
    r"""Iterate over it once to get the `Candidate`s; the totals are right when the iteration is over.

    A candidate is a line between line breaks (``\n`` or ``\r``); its number counts ``\n`` only, so the updates of a
    progress bar share one.  `Candidate.following` works as long as the scan has not gone on.
    """

    def __init__(
        self, session: Session, floods: Floods, naming: Naming, alone: frozenset[int], readinto: ReadInto
    ) -> None:
        self._session = session
        self._naming = naming
        self._alone = alone
        self._window = Window(readinto)
        self._newlines = NewlineCounter(self._window.buffer)
        self._flood = floods.next()
        self._counted = 0
        self._numbers = 0
        self._unfinished = False
        self._afresh = False
        self._all_hits: list[int] = []
        """Of this window, nothing thinned, once they were asked for."""

    @property
    def bytes(self) -> int:
        """Bytes read so far."""
        return self._window.bytes

    @property
    def lines(self) -> int:
        """Lines read so far, a last one without newline included."""
        return self._numbers + self._unfinished

    @property
    def flooded(self) -> tuple[int, ...]:
        """The patterns that hit so often that only a part of their lines was kept."""
        return tuple(sorted(self._flood.thinned))

    def look_afresh(self) -> None:
        """Show what was thinned again for a while, below the line that was given last: another run may begin there."""
        self._afresh = True

    def __iter__(self) -> Iterator[Candidate]:
        """The candidates, in file order."""
        window = self._window
        while window.advance(ahead=bool(self._flood.thinned)):
            self._counted = window.shown_from
            self._all_hits = []
            yield from self._candidates(deque(self._hits()))
            self._count_to(window.shown_to)
            self._unfinished = window.buffer[window.shown_to - 1] != ord("\n")

    def _hits(self) -> list[int]:
        """The hits of this window in order, each once, floods thinned."""
        window = self._window
        last = window.is_last
        thinned = self._flood.before_window(last=last)
        silent = bool(thinned) and not self._flood.speaks
        if last and self._flood.scant:
            found = self._last_hits()
        else:
            found = self._session.hits(window.view[: window.cut], thinned, silent=silent)
        hits = sorted(set(found))
        if window.shown_to < window.cut or window.shown_from:
            hits = [h for h in hits if window.shown_from < h >> ID_BITS <= window.shown_to]
        return self._flood.note_last(hits, thinned) if last else self._flood.note(hits)

    def _add_hits_behind(self, position: int, hits: deque[int]) -> None:
        """Put in order among the ``hits`` still to come what was thinned of this window behind ``position``."""
        self._afresh = False
        if not self._flood.forgive():
            return
        window = self._window
        self._all_hits = self._all_hits or sorted(set(self._session.hits(window.view[: window.cut], {})))
        begin = bisect_right(self._all_hits, position << ID_BITS | ID_MASK)
        found = self._all_hits[begin : begin + AFRESH]
        seen = self._flood.note([h for h in found if h >> ID_BITS <= window.shown_to])
        everything = sorted({*hits, *seen})
        hits.clear()
        hits.extend(everything)

    def _last_hits(self) -> list[int]:
        """The hits of a last window of which only the end may show what the job has had enough of."""
        window = self._window
        found = self._session.hits(window.view[: window.cut], dict.fromkeys(self._flood.scant, -1), silent=True)
        tail = window.buffer.rfind(b"\n", 0, max(0, window.cut - TAIL)) + 1
        return found + [hit + (tail << ID_BITS) for hit in self._session.hits(window.view[tail : window.cut], {})]

    def _candidates(self, hits: deque[int]) -> Iterator[Candidate]:
        """The lines that hits are in, each once."""
        window, end, together = self._window, -1, TOGETHER
        while picked := self._next_picked(hits, end, together):
            together = min(2 * together, TOGETHER)
            for place, (_, start, end, raw, ids) in enumerate(picked, 1):
                if not self._alone.isdisjoint(ids):
                    self._count_to(start)
                    yield Candidate(raw, self._numbers + 1, ids, partial(window.lines_below, end, window.turn))
                if self._afresh:
                    hits.extendleft(later.hit for later in reversed(picked[place:]))
                    self._add_hits_behind(end, hits)
                    together = 1  # runs that end line upon line would have the lines between named again and again
                    break

    def _next_picked(self, hits: deque[int], end: int, most: int) -> list[_Picked]:
        """The next lines behind ``end`` that ``hits`` are in, each with the patterns that it holds; ``most`` of them.

        Many at a time: the naming engine is several times as fast while its tables are in the processor's cache.
        """
        window, picked = self._window, list[_Picked]()
        while hits and len(picked) < most:
            hit = hits.popleft()
            position = hit >> ID_BITS
            if position > end:
                start, end = bounds(window.buffer, position, window.cut)
                raw = bytes(window.view[start:end])
                picked.append(_Picked(hit, start, end, raw, self._naming(raw)))
        return picked

    def _count_to(self, position: int) -> None:
        if position > self._counted:
            self._numbers += self._newlines.count(self._counted, position)
            self._counted = position

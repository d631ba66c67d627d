"""The scan of one input, from windows to candidate lines."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from logdoctor.matcher.engine import ID_BITS, ID_MASK, Session
from logdoctor.matcher.newlines import count_newlines
from logdoctor.matcher.sublines import MAX_LINE_BYTES, line_bounds
from logdoctor.matcher.throttle import JobThrottle
from logdoctor.matcher.window import ReadInto, Window
from logdoctor.model import Candidate

TAIL_BYTES = 32 << 10
"""Bytes at the end of a stream that may report exhausted patterns (see `flood`)."""
MAX_LATE_HITS = 1024
"""Throttled hits that are looked at after `Scan.reset_throttle`."""
Around = tuple[list[bytes], list[bytes]]
"""Lines above and below a line."""
_LINE_BREAKS = b"\n\r"
_ELLIPSIS = "…".encode()
MAX_ABOVE_BYTES = 8 << 10
"""Bytes of a window that are kept while the next one is scanned."""


class Scan:
    r"""The `Candidate` lines of one input. Iterate once.

    The totals are right when the iteration is over.
    A candidate is a line between line breaks (``\n`` or ``\r``). Its number counts ``\n`` only, so all updates of a
    progress bar have the same number.
    `Candidate.following` works until the scan goes on.
    """

    def __init__(
        self,
        session: Session,
        job_throttle: JobThrottle,
        match_line: Callable[[bytes], tuple[int, ...]],
        readinto: ReadInto,
    ) -> None:
        self._session = session
        self._match_line = match_line
        self._window = Window(readinto)
        self._throttle = job_throttle.next()
        self._counted_to = 0
        self._newline_count = 0
        self._has_partial_line = False
        self._must_reset = False
        self.is_taken: Callable[[int], bool] = lambda _number: False
        """Tells whether the line with this number belongs to a record already, so that it is no candidate."""
        self.cut_lines = 0
        """Candidates that are a part of a line, because it is too long."""
        self._all_hits: list[int] = []
        """All hits of this window without throttling, once they were needed."""
        self._at = 0, 0
        """Start and end of the last candidate in the window."""
        self._above = b""
        """Text above the window."""

    @property
    def bytes(self) -> int:
        return self._window.bytes

    @property
    def lines(self) -> int:
        """Lines read so far, including a last line without newline."""
        return self._newline_count + self._has_partial_line

    @property
    def throttled_patterns(self) -> tuple[int, ...]:
        """Patterns of which only a part of the hits was reported."""
        return tuple(sorted(self._throttle.throttled))

    def around(self, above: int, below: int, most: int) -> Around:
        """Return lines above and below the last candidate, of ``most`` bytes on each side at most."""
        window, (start, end) = self._window, self._at
        known = bytes(window.view[max(0, start - most) : start])
        text = known if start >= most else self._above + known
        is_cut = start >= most or len(self._above) == MAX_ABOVE_BYTES
        lines_below = list[bytes]()
        for raw in islice(window.lines_below(end, window.generation), below):
            lines_below.append(raw[:most])
            most -= len(raw) + 1
            if most <= 0:
                break
        return text.split(b"\n")[is_cut:-1][-above:], lines_below

    def reset_throttle(self) -> None:
        """Report throttled often patterns again for a while, below the last candidate.

        The caller asks for this if another run may begin there.
        """
        self._must_reset = True

    def __iter__(self) -> Iterator[Candidate]:
        window = self._window
        while window.advance(ahead=bool(self._throttle.throttled)):
            self._counted_to = window.own_start
            self._all_hits = []
            yield from self._candidates(deque(self._hits()))
            self._count_to(window.own_end)
            self._has_partial_line = window.buffer[window.own_end - 1] != ord("\n")
            self._above = bytes(window.view[max(0, window.own_end - MAX_ABOVE_BYTES) : window.own_end])

    def _hits(self) -> list[int]:
        """Return the hits of this window in order, each once, throttled."""
        window = self._window
        last = window.is_last
        throttled = self._throttle.before_window(last=last)
        silent = bool(throttled) and not self._throttle.reports_throttled
        if last and self._throttle.exhausted:
            raw_hits = self._last_window_hits()
        else:
            raw_hits = self._session.hits(window.view[: window.cut], throttled, silent=silent)
        hits = sorted(set(raw_hits))
        if window.own_end < window.cut or window.own_start:
            hits = [h for h in hits if window.own_start < h >> ID_BITS <= window.own_end]
        return self._throttle.count_last_hits(hits, throttled) if last else self._throttle.count_hits(hits)

    def _add_hits_after(self, position: int, hits: deque[int]) -> None:
        """Merge throttled hits of this window after ``position`` into ``hits``."""
        self._must_reset = False
        if not self._throttle.reset_often():
            return
        window = self._window
        self._all_hits = self._all_hits or sorted(set(self._session.hits(window.view[: window.cut], {})))
        begin = bisect_right(self._all_hits, position << ID_BITS | ID_MASK)
        raw_hits = self._all_hits[begin : begin + MAX_LATE_HITS]
        reported = self._throttle.count_hits([h for h in raw_hits if h >> ID_BITS <= window.own_end])
        merged = sorted({*hits, *reported})
        hits.clear()
        hits.extend(merged)

    def _last_window_hits(self) -> list[int]:
        """Return the hits of a last window with exhausted patterns.

        Exhausted patterns are searched at the end of the window only.
        """
        window = self._window
        raw_hits = self._session.hits(
            window.view[: window.cut], dict.fromkeys(self._throttle.exhausted, -1), silent=True
        )
        tail = window.buffer.rfind(b"\n", 0, max(0, window.cut - TAIL_BYTES)) + 1
        return raw_hits + [hit + (tail << ID_BITS) for hit in self._session.hits(window.view[tail : window.cut], {})]

    def _candidates(self, hits: deque[int]) -> Iterator[Candidate]:
        """Yield each line with a hit once."""
        window, end = self._window, -1
        while hits:
            position = hits.popleft() >> ID_BITS
            if position <= end:
                continue
            start, end = line_bounds(window.buffer, position, window.cut)
            raw = bytes(window.view[start:end])
            if len(raw) >= MAX_LINE_BYTES // 2:
                before, behind = self._cuts(start, end)
                raw = _mark_cuts(raw, before=before, behind=behind)
                self.cut_lines += before or behind
            self._count_to(start)
            number = self._newline_count + 1
            if not self.is_taken(number) and (ids := self._match_line(raw)):  # an overlong line may cut an atom off
                self._at = start, end
                yield Candidate(raw, number, ids, partial(window.lines_below, end, window.generation))
                if self._must_reset:
                    self._add_hits_after(end, hits)

    def _cuts(self, start: int, end: int) -> tuple[bool, bool]:
        """Return whether the line around a hit goes on before ``start``, and behind ``end``."""
        buffer = self._window.buffer
        before = start > 0 and buffer[start - 1] not in _LINE_BREAKS
        return before, end < self._window.end and buffer[end] not in _LINE_BREAKS

    def _count_to(self, position: int) -> None:
        if position > self._counted_to:
            self._newline_count += count_newlines(self._window.buffer, self._counted_to, position)
            self._counted_to = position


def _mark_cuts(raw: bytes, *, before: bool, behind: bool) -> bytes:
    """Return a part of a line with an ellipsis where it was cut, so that no pattern finds an end of the line there."""
    raw = _ELLIPSIS + raw[len(_ELLIPSIS) :] if before else raw
    return raw[: -len(_ELLIPSIS)] + _ELLIPSIS if behind else raw

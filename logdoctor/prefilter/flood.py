"""Patterns that hit on every line would drown the rest: after their first hits only few of them go on counting."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection

from logdoctor.prefilter.engine import ID_MASK

FULL = 8192
"""So many hits of a pattern in one stream all count."""
OFTEN = 32
"""The same for patterns that a healthy log is full of; if one of them has had its share, all of them have."""
STREAMS = 32
"""So many times as many all count in a job: of what a thousand files are full of the rest show only their ends."""
SPARSER = 8
"""Thinned patterns have one hit a window for so many windows, then in every second for as many, then in every fourth
for twice as many ... so that a log of any size has only hundreds."""
AT_THE_END = 64
"""So many hits of a thinned pattern count in the last window."""
OFTEN_AT_THE_END = 16
"""The same for each of those that healthy logs are full of; and `TOGETHER` of them all, whichever they are."""
TOGETHER = 96
SCANT = 2
"""So many where the job has had its share of the pattern, of the last `scan.TAIL` bytes; of those that healthy logs are
full of so many together."""
FORGIVEN = 128
"""So often in one stream what healthy logs are full of may count anew."""


class Floods:
    """What the streams of one job, read one after the other, have had of each pattern."""

    def __init__(self, often: Collection[int]) -> None:
        self._often = often
        self.counts: Counter[int] = Counter()

    def next(self) -> Flood:
        """The flood of the next stream."""
        return Flood(self._often, self)

    def had_enough(self) -> frozenset[int]:
        """The patterns that the job has had its share of."""
        enough = frozenset(i for i, n in self.counts.items() if n > STREAMS * (OFTEN if i in self._often else FULL))
        return enough if enough.isdisjoint(self._often) else enough.union(self._often)


class Flood:
    """Counts the hits of each pattern in one stream and says which to thin."""

    def __init__(self, often: Collection[int], job: Floods | None = None) -> None:
        self._often = often
        self._job = job or Floods(often)
        self.scant = self._job.had_enough()
        """The patterns of which this stream may show but its last few hits."""
        self._counts: dict[int, int] = {}
        self._windows = 0
        self._forgiven = 0
        self.thinned: dict[int, int] = dict.fromkeys(self.scant, -1)
        """The patterns of which the engine reports one hit a window; the value is the engine's (-1 before a window)."""

    def before_window(self, *, last: bool) -> dict[int, int]:
        """What the engine shall thin in the coming window: nothing in the last one."""
        if last:
            return {}
        if self.thinned:
            self._windows += 1
        self.thinned = dict.fromkeys(self.thinned, -1)
        return self.thinned

    @property
    def speaks(self) -> bool:
        """Whether this window is one in which thinned patterns have a hit."""
        return not self.scant and self._windows % (1 << (self._windows // SPARSER).bit_length()) == 0

    def note(self, hits: list[int]) -> list[int]:
        """Count the hits of a window; who is over the limit is thinned from the next window on.

        Returns the hits that stay: thinned patterns speak in ever fewer windows.
        """
        if self.thinned and not self.speaks:
            hits = [hit for hit in hits if hit & ID_MASK not in self.thinned]
        counts, kept, few = self._counts, list[int](), frozenset(self.thinned)
        for hit in hits:
            pattern = hit & ID_MASK
            counts[pattern] = count = counts.get(pattern, 0) + 1
            if count <= OFTEN or pattern not in self._often or pattern in few:
                kept.append(hit)
            if count > FULL:
                self.thinned.setdefault(pattern, -1)
            elif count > OFTEN and pattern in self._often and pattern not in self.thinned:
                self.thinned.update(dict.fromkeys(self._often, -1))
        return kept

    def forgive(self) -> bool:
        """Let what healthy logs are full of count anew from here on; whether anything changes."""
        if self.scant or self._forgiven == FORGIVEN or not any(p in self.thinned for p in self._often):
            return False
        self._forgiven += 1
        for pattern in self._often:
            self._counts.pop(pattern, None)
            self.thinned.pop(pattern, None)
        return True

    def note_last(self, hits: list[int], thinned: dict[int, int]) -> list[int]:
        """Of the last window's hits in order: of each thinned pattern the last ones; the stream is over.

        Of what healthy logs are full of, if nothing was thinned so far, the first hits too.
        """
        self.thinned.update(thinned)
        few = frozenset(self.thinned)
        scant_often = not self.scant.isdisjoint(self._often)
        kept, ends, together = (
            list[int](),
            dict[int, deque[int]](),
            deque[int](maxlen=SCANT if scant_often else TOGETHER),
        )
        for hit in hits:
            pattern = hit & ID_MASK
            self._counts[pattern] = count = self._counts.get(pattern, 0) + 1
            often = pattern in self._often
            if pattern not in few and (not often or count <= OFTEN):
                kept.append(hit)
                continue
            if pattern not in ends:
                ends[pattern] = deque(maxlen=self._most_at_the_end(pattern))
            ends[pattern].append(hit)
            if often:
                self.thinned.setdefault(pattern, -1)
                together.append(hit)
        self._job.counts.update(self._counts)
        return sorted({*kept, *together, *(hit for last in ends.values() for hit in last)})

    def _most_at_the_end(self, pattern: int) -> int:
        if pattern in self._often:
            return 0 if pattern in self.scant else OFTEN_AT_THE_END
        return SCANT if pattern in self.scant else AT_THE_END

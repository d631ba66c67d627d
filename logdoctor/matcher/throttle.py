"""Throttling of patterns that match on nearly every line.

After their first hits such patterns are reported in few windows, so that other patterns are not lost among them.
A pattern is "often" if healthy logs are full of it, for example ``step 7 loss 2.1``.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection

from logdoctor.matcher.engine import ID_MASK

MAX_HITS = 8192
"""Hits of a pattern in one stream that are all reported."""
MAX_OFTEN_HITS = 32
"""The same for each often pattern. If one of them exceeds the limit, all of them are throttled."""
JOB_FACTOR = 32
"""Limit per job, as a multiple of the limit per stream. Later streams report only the last hits."""
BACKOFF_WINDOWS = 8
"""For this many windows a throttled pattern has one hit a window.
For as many it then has a hit in every second window, for twice as many in every fourth, and so on.
So a log of any size has only hundreds of such hits."""
TAIL_HITS = 64
"""Hits of a throttled pattern that are reported in the last window."""
OFTEN_TAIL_HITS = 16
"""The same for each often pattern."""
OFTEN_TAIL_TOTAL = 96
"""Last hits of often patterns, whichever they are, that are reported in the last window."""
EXHAUSTED_TAIL_HITS = 2
"""Hits of an exhausted pattern that are reported in the last `scan.TAIL_BYTES` of a stream. All often patterns share
this number."""
MAX_RESETS = 128
"""Number of times in one stream that `StreamThrottle.reset_often` has an effect."""


class JobThrottle:
    """Hit counts of each pattern over all streams of a job."""

    def __init__(self, often: Collection[int]) -> None:
        self._often = often
        self.hit_counts: Counter[int] = Counter()

    def next(self) -> StreamThrottle:
        """Return the throttle of the next stream."""
        return StreamThrottle(self._often, self)

    def exhausted_patterns(self) -> frozenset[int]:
        """Return the patterns that reached the limit of the job."""
        exhausted = frozenset(
            i for i, n in self.hit_counts.items() if n > JOB_FACTOR * (MAX_OFTEN_HITS if i in self._often else MAX_HITS)
        )
        return exhausted if exhausted.isdisjoint(self._often) else exhausted.union(self._often)


class StreamThrottle:
    """Hit counts of one stream, and the patterns to throttle."""

    def __init__(self, often: Collection[int], job: JobThrottle | None = None) -> None:
        self._often = often
        self._job_throttle = job or JobThrottle(often)
        self.exhausted = self._job_throttle.exhausted_patterns()
        """Patterns of which this stream may report only its last few hits."""
        self._hit_counts: dict[int, int] = {}
        self._windows = 0
        self._resets = 0
        self.throttled: dict[int, int] = dict.fromkeys(self.exhausted, -1)
        """Patterns with one hit a window. The engine sets the values, the end of the hit, from -1 before a window."""

    def before_window(self, *, last: bool) -> dict[int, int]:
        """Return the patterns to throttle in the next window. Nothing is throttled in the last window."""
        if last:
            return {}
        if self.throttled:
            self._windows += 1
        self.throttled = dict.fromkeys(self.throttled, -1)
        return self.throttled

    @property
    def reports_throttled(self) -> bool:
        """Report whether throttled patterns have a hit in this window."""
        return not self.exhausted and self._windows % (1 << (self._windows // BACKOFF_WINDOWS).bit_length()) == 0

    def count_hits(self, hits: list[int]) -> list[int]:
        """Count the hits of a window and return those to report.

        A pattern over its limit is throttled from the next window on.
        """
        if self.throttled and not self.reports_throttled:
            hits = [hit for hit in hits if hit & ID_MASK not in self.throttled]
        hit_counts, reported, throttled_before = self._hit_counts, list[int](), frozenset(self.throttled)
        for hit in hits:
            pattern = hit & ID_MASK
            hit_counts[pattern] = count = hit_counts.get(pattern, 0) + 1
            if count <= MAX_OFTEN_HITS or pattern not in self._often or pattern in throttled_before:
                reported.append(hit)
            if count > MAX_HITS:
                self.throttled.setdefault(pattern, -1)
            elif count > MAX_OFTEN_HITS and pattern in self._often and pattern not in self.throttled:
                self.throttled.update(dict.fromkeys(self._often, -1))
        return reported

    def reset_often(self) -> bool:
        """Reset the counts of often patterns. Return whether anything changed."""
        if self.exhausted or self._resets == MAX_RESETS or not any(p in self.throttled for p in self._often):
            return False
        self._resets += 1
        for pattern in self._often:
            self._hit_counts.pop(pattern, None)
            self.throttled.pop(pattern, None)
        return True

    def count_last_hits(self, hits: list[int], throttled: dict[int, int]) -> list[int]:
        """Return the hits of the last window to report.

        ``hits`` must be sorted. Of each throttled pattern only the last hits are returned.
        Of often patterns that were not throttled so far the first hits are returned as well.
        """
        self.throttled.update(throttled)
        throttled_before = frozenset(self.throttled)
        is_often_exhausted = not self.exhausted.isdisjoint(self._often)
        reported, last_hits, last_often_hits = (
            list[int](),
            dict[int, deque[int]](),
            deque[int](maxlen=EXHAUSTED_TAIL_HITS if is_often_exhausted else OFTEN_TAIL_TOTAL),
        )
        for hit in hits:
            pattern = hit & ID_MASK
            self._hit_counts[pattern] = count = self._hit_counts.get(pattern, 0) + 1
            often = pattern in self._often
            if pattern not in throttled_before and (not often or count <= MAX_OFTEN_HITS):
                reported.append(hit)
                continue
            if pattern not in last_hits:
                last_hits[pattern] = deque(maxlen=self._tail_limit(pattern))
            last_hits[pattern].append(hit)
            if often:
                self.throttled.setdefault(pattern, -1)
                last_often_hits.append(hit)
        self._job_throttle.hit_counts.update(self._hit_counts)
        return sorted({*reported, *last_often_hits, *(hit for last in last_hits.values() for hit in last)})

    def _tail_limit(self, pattern: int) -> int:
        if pattern in self._often:
            return 0 if pattern in self.exhausted else OFTEN_TAIL_HITS
        return EXHAUSTED_TAIL_HITS if pattern in self.exhausted else TAIL_HITS

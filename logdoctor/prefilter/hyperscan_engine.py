"""The fast engine: Hyperscan in block mode, its compiled database cached on disk.

Measured with hyperscan 0.9.1 (Vectorscan 5.4.12): a few hundred patterns at 1.7 GB/s on one core; compiling takes a
quarter of a second, loading a cached database 0.1 ms.  A callback into Python costs 0.15 µs, so it does next to
nothing.  Hyperscan releases the GIL while it scans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import hyperscan

from logdoctor.prefilter import database_cache
from logdoctor.prefilter.engine import ID_BITS, ID_MASK, Session

_Handler = Callable[[int, int, int, int, object], "bool | None"]
_MOST_HITS = 1 << 16
"""More raw hits in one window than this, and the patterns that make them are thinned at once (bounds the memory)."""
_WASTE = 1500
"""So many callbacks per pattern thrown away cost about what compiling costs."""


def load(patterns: Sequence[bytes], cache_dir: Path | None) -> HyperscanEngine:
    """The database for ``patterns`` from the cache, else compiled (and put there)."""
    if cache_dir is None:
        return HyperscanEngine(patterns, _compile(patterns))
    path = cache_dir / database_cache.file_name(patterns, getattr(hyperscan, "__version__", ""))
    stored = database_cache.read(path)
    if stored is not None:
        try:
            return HyperscanEngine(patterns, hyperscan.loadb(stored, hyperscan.HS_MODE_BLOCK))
        except Exception:  # noqa: BLE001, S110  cut, foreign or damaged: whatever it is, compiling again cures it
            pass
    database = _compile(patterns)
    database_cache.write(path, hyperscan.dumpb(database))
    return HyperscanEngine(patterns, database)


def _compile(patterns: Sequence[bytes], once: Collection[int] = ()) -> hyperscan.Database:
    """Those in ``once`` report their first match only."""
    flags = [hyperscan.HS_FLAG_SINGLEMATCH if i in once else 0 for i in range(len(patterns))]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=list(patterns), ids=list(range(len(patterns))), flags=flags)
    return database


class HyperscanEngine:
    """A compiled database."""

    name = "hyperscan"

    def __init__(self, patterns: Sequence[bytes], database: hyperscan.Database) -> None:
        self._patterns = patterns
        self._database = database

    def session(self) -> Session:
        """A session with its own scratch memory."""
        return _Session(self._patterns, self._database)


class _Session:
    """Scans with the whole database; under a lasting flood with one in which the flooding patterns report once."""

    def __init__(self, patterns: Sequence[bytes], database: hyperscan.Database) -> None:
        self._patterns = patterns
        self._scan = self._quiet_scan = _scanner(database)
        self._hits: list[int] = []
        self._collect = _collector(self._hits)
        self._wasted = 0
        self._worth = _WASTE * len(patterns)

    def hits(self, window: memoryview, thinned: dict[int, int]) -> list[int]:
        """See `Session.hits`."""
        if thinned and self._wasted > self._worth:
            self._quiet_scan = _scanner(_compile(self._patterns, thinned))
            self._wasted, self._worth = 0, 2 * self._worth
        self._hits.clear()
        if self._run(window, thinned):
            return self._hits + [end << ID_BITS | i for i, end in thinned.items() if end >= 0]
        return self._thin_out(window, thinned)

    def _run(self, window: memoryview, thinned: dict[int, int]) -> bool:
        """One pass; False if it was given up because of too many hits."""
        calls = count()
        try:
            if thinned:
                self._quiet_scan(window, _thinner(self._hits, thinned, calls.__next__))
            else:
                self._scan(window, self._collect)
        except hyperscan.ScanTerminated:
            if len(self._hits) <= _MOST_HITS:  # it was an exception in the handler (Ctrl-C)
                raise
            return False
        finally:
            self._wasted += next(calls)
        return True

    def _thin_out(self, window: memoryview, thinned: dict[int, int]) -> list[int]:
        """A window with too many hits: keep the first of them, thin who made the most, go over it again."""
        kept = set(self._hits)
        finished = False
        while not finished:
            thinned.update(dict.fromkeys(_loudest(self._hits), -1))
            self._hits.clear()
            finished = self._run(window, thinned)
            kept.update(self._hits)
        kept.update(end << ID_BITS | i for i, end in thinned.items() if end >= 0)
        return list(kept)

    def ids(self, text: bytes) -> tuple[int, ...]:
        """See `Session.ids`."""
        found: set[int] = set()
        self._scan(text, lambda i, _f, _t, _g, _c: found.add(i))
        return tuple(sorted(found))


def _scanner(database: hyperscan.Database) -> Callable[[bytes | memoryview, _Handler], None]:
    scan: Any = database.scan  # its stubs know no memoryview
    return partial(scan, scratch=hyperscan.Scratch(database))


def _loudest(hits: list[int]) -> list[int]:
    """The ids that make at least their share of the hits (there is always one)."""
    counts = Counter([hit & ID_MASK for hit in hits])
    return [i for i, n in counts.items() if n * len(counts) >= len(hits)]


def _collector(hits: list[int]) -> _Handler:
    append = hits.append

    def collect(pattern: int, _start: int, end: int, _flags: int, _context: object) -> bool:
        append(end << ID_BITS | pattern)
        return len(hits) > _MOST_HITS

    return collect


def _thinner(hits: list[int], thinned: dict[int, int], wasted: Callable[[], int]) -> _Handler:
    append = hits.append

    def collect(pattern: int, _start: int, end: int, _flags: int, _context: object) -> bool | None:
        if pattern in thinned:
            if thinned[pattern] < 0:
                thinned[pattern] = end
            wasted()
            return None
        append(end << ID_BITS | pattern)
        return len(hits) > _MOST_HITS

    return collect

"""The fast engine: Hyperscan in block mode, with its compiled database cached.

Measured with hyperscan 0.9.1 (Vectorscan 5.4.12): a few hundred patterns at 1.7 GB/s on one core. Compiling takes a
quarter of a second, loading a cached database 0.1 ms.
A callback into Python costs 0.15 µs, so it does next to nothing. Hyperscan releases the GIL while it scans.

Often patterns (healthy logs are full of them) cost many callbacks that are thrown away. So under throttling the scan
uses two databases: the noisy patterns, each reported once a scan, and the quiet rest.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import hyperscan

from logdoctor.matcher.engine import ID_BITS, ID_MASK, Session
from logdoctor.matcher.plan import Expressions
from logdoctor.model.digests import blake2b
from logdoctor.pack import cached_files

_FORMAT = "logdoctor.hsdb/2"
_Handler = Callable[[int, int, int, int, object], "bool | None"]
_Scanner = Callable[["bytes | memoryview", _Handler], None]
_MAX_WINDOW_HITS = 1 << 16
"""Hits of one window after which the noisiest patterns are throttled at once. This bounds the memory."""
_COMPILE_COST = 1_000_000
"""Number of wasted callbacks that costs as much as compiling."""
_LOAD_COST = _COMPILE_COST // 50
"""Number of wasted callbacks that costs as much as loading the split databases of the often patterns."""
_SHARED_COMPILE_COST = _COMPILE_COST // 5
"""The compile cost if later runs share the result."""


def load(expressions: Expressions, cache_dir: Path | None, *, ids_only: bool = False) -> HyperscanEngine:
    """Load the database from the cache, or compile and cache it."""
    return HyperscanEngine(expressions, cache_dir, hyperscan.HS_FLAG_SINGLEMATCH if ids_only else 0)


class _Part(NamedTuple):
    """Some of the patterns, and the flag to compile them with."""

    flag: int
    ids: frozenset[int]


class Split(NamedTuple):
    """All patterns in two databases.

    ``noisy`` reports each of its patterns, ``ids``, once a scan.
    """

    quiet: hyperscan.Database
    noisy: hyperscan.Database
    ids: frozenset[int]


class HyperscanEngine:
    name = "hyperscan"

    def __init__(self, expressions: Expressions, cache_dir: Path | None, flag: int = 0) -> None:
        self._expressions = expressions
        self._often = frozenset(expressions.often)
        self._cache_dir = cache_dir
        self._all = _Part(flag, frozenset(range(expressions.count)))
        self._database = self._load_cached(self._all) or self._compile_and_cache(self._all)
        self._often_split: Split | None = None

    @property
    def has_often_split(self) -> bool:
        return self._often_split is not None

    @property
    def has_cache(self) -> bool:
        return self._cache_dir is not None

    def session(self) -> Session:
        """Return a session with its own scratch memory."""
        return _Session(self, self._database)

    def split(self, throttled: Collection[int], *, may_compile: bool) -> Split | None:
        """Return the databases for throttling ``throttled``.

        Return None if they do not exist and ``may_compile`` is False.
        The split of all often patterns is the usual case and is kept. Other splits belong to one log.
        """
        noisy = frozenset(throttled)
        is_usual = self._often <= noisy
        if is_usual and self._often_split is None:
            self._often_split = self._load_often_split(may_compile=may_compile)
        elif may_compile and noisy != self._often:
            quiet, noisy_database = map(self._compile, self._parts(noisy))
            return Split(quiet, noisy_database, noisy)
        return self._often_split if is_usual else None

    def _load_often_split(self, *, may_compile: bool) -> Split | None:
        parts = self._parts(self._often)
        cached = [self._load_cached(part) for part in parts]
        if not may_compile and not all(cached):
            return None
        quiet, noisy = (found or self._compile_and_cache(part) for found, part in zip(cached, parts, strict=True))
        return Split(quiet, noisy, self._often)

    def _parts(self, noisy: frozenset[int]) -> tuple[_Part, _Part]:
        return _Part(self._all.flag, self._all.ids - noisy), _Part(hyperscan.HS_FLAG_SINGLEMATCH, noisy)

    def _load_cached(self, part: _Part) -> hyperscan.Database | None:
        path = self._path(part)
        cached = cached_files.read(path) if path else None
        if cached is not None:
            with suppress(Exception):  # a cut, foreign or damaged file is compiled again
                return hyperscan.loadb(cached, hyperscan.HS_MODE_BLOCK)
        return None

    def _compile_and_cache(self, part: _Part) -> hyperscan.Database:
        database = self._compile(part)
        if path := self._path(part):
            cached_files.write(path, hyperscan.dumpb(database))
        return database

    def _compile(self, part: _Part) -> hyperscan.Database:
        texts = self._expressions.texts()
        ids = sorted(part.ids) or [0]
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(expressions=[texts[i] for i in ids], ids=ids, flags=[part.flag] * len(ids))
        return database

    def _path(self, part: _Part) -> Path | None:
        """Return the cache file. Its name depends on the patterns, the engine's version and the platform."""
        if self._cache_dir is None:
            return None
        machine = os.uname().machine if hasattr(os, "uname") else ""
        version = getattr(hyperscan, "__version__", "")
        missing_ids = sorted(self._all.ids - part.ids)
        key = (_FORMAT, version, sys.platform, machine, self._expressions.digest, part.flag, missing_ids)
        return self._cache_dir / f"{blake2b(repr(key).encode(), digest_size=16).hexdigest()}.hsdb"


class _Session:
    """A scan with one database, or with two under throttling."""

    def __init__(self, engine: HyperscanEngine, database: hyperscan.Database) -> None:
        self._engine = engine
        self._scan = self._scan_quiet = _scanner(database)
        self._scan_noisy: _Scanner | None = None
        self._noisy = frozenset[int]()
        self._throttled = frozenset[int]()
        self._hits: list[int] = []
        self._collect = _collector(self._hits)
        self._wasted_calls = 0
        self._compile_threshold = _SHARED_COMPILE_COST if engine.has_cache else _COMPILE_COST

    def hits(self, window: memoryview, throttled: dict[int, int], *, silent: bool = False) -> list[int]:
        self._hits.clear()
        if self._run(window, throttled, silent=silent):
            if silent:
                return list(self._hits)
            return self._hits + [end << ID_BITS | i for i, end in throttled.items() if end >= 0]
        return self._throttle_window(window, throttled)

    def _use_split(self, throttled: AbstractSet[int]) -> None:
        """Switch to split databases if that pays.

        Split databases that exist always pay. Compiling pays after enough wasted callbacks.
        """
        if self._scan_noisy is None and self._wasted_calls < _LOAD_COST and not self._engine.has_often_split:
            return
        may_compile = self._wasted_calls > self._compile_threshold
        if throttled == self._throttled and not may_compile:
            return
        self._throttled = frozenset(throttled)
        if not self._noisy <= throttled:
            self._scan_quiet, self._scan_noisy, self._noisy = self._scan, None, frozenset()
        split = self._engine.split(throttled, may_compile=may_compile)
        if split is not None and len(split.ids) > len(self._noisy):
            self._scan_quiet, self._scan_noisy, self._noisy = _scanner(split.quiet), _scanner(split.noisy), split.ids
            self._compile_threshold = max(self._compile_threshold, _COMPILE_COST)
        if may_compile:
            self._wasted_calls, self._compile_threshold = 0, 2 * self._compile_threshold

    def _run(self, window: memoryview, throttled: dict[int, int], *, silent: bool = False) -> bool:
        """Scan once. Return False if the scan was stopped because of too many hits."""
        calls = count()
        try:
            if throttled:
                self._use_split(throttled.keys())
                self._scan_quiet(window, _throttling_collector(self._hits, throttled, calls.__next__))
                if self._scan_noisy and not silent:
                    self._scan_noisy(window, _first_hit_marker(throttled))
            else:
                self._scan(window, self._collect)
        except hyperscan.ScanTerminated:
            if len(self._hits) <= _MAX_WINDOW_HITS:  # an exception in the handler (Ctrl-C)
                raise
            return False
        finally:
            self._wasted_calls += next(calls)
        return True

    def _throttle_window(self, window: memoryview, throttled: dict[int, int]) -> list[int]:
        """Keep the hits so far, throttle the noisiest patterns and scan again."""
        hits = set(self._hits)
        finished = False
        while not finished:
            throttled.update(dict.fromkeys(_noisiest(self._hits), -1))
            self._hits.clear()
            finished = self._run(window, throttled)
            hits.update(self._hits)
        hits.update(end << ID_BITS | i for i, end in throttled.items() if end >= 0)
        return list(hits)

    def ids(self, text: bytes) -> tuple[int, ...]:
        matches: set[int] = set()
        self._scan(text, lambda i, _f, _t, _g, _c: matches.add(i))
        return tuple(sorted(matches))


def _scanner(database: hyperscan.Database) -> _Scanner:
    scan: Any = database.scan  # the stubs lack memoryview
    return partial(scan, scratch=hyperscan.Scratch(database))


def _noisiest(hits: list[int]) -> list[int]:
    """Return the ids with at least their share of the hits. There is always one."""
    counts = Counter([hit & ID_MASK for hit in hits])
    return [i for i, n in counts.items() if n * len(counts) >= len(hits)]


def _collector(hits: list[int]) -> _Handler:
    append = hits.append

    def collect(pattern: int, _start: int, end: int, _flags: int, _context: object) -> bool:
        append(end << ID_BITS | pattern)
        return len(hits) > _MAX_WINDOW_HITS

    return collect


def _throttling_collector(hits: list[int], throttled: dict[int, int], count_waste: Callable[[], int]) -> _Handler:
    append = hits.append

    def collect(pattern: int, _start: int, end: int, _flags: int, _context: object) -> bool | None:
        if pattern in throttled:
            if throttled[pattern] < 0:
                throttled[pattern] = end
            count_waste()
            return None
        append(end << ID_BITS | pattern)
        return len(hits) > _MAX_WINDOW_HITS

    return collect


def _first_hit_marker(throttled: dict[int, int]) -> _Handler:
    """Return a handler that stores the end of each first hit.

    A database that reports each pattern once wastes no callback.
    """

    def mark(pattern: int, _start: int, end: int, _flags: int, _context: object) -> None:
        if throttled[pattern] < 0:
            throttled[pattern] = end

    return mark

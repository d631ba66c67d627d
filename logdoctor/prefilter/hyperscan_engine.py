"""The fast engine: Hyperscan in block mode, its compiled database cached on disk.

Measured with hyperscan 0.9.1 (Vectorscan 5.4.12): a few hundred patterns at 1.7 GB/s on one core; compiling takes a
quarter of a second, loading a cached database 0.1 ms.  A callback into Python costs 0.15 µs, so it does next to
nothing.  Hyperscan releases the GIL while it scans.
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

from logdoctor import cached_files
from logdoctor.digests import blake2b
from logdoctor.prefilter.engine import ID_BITS, ID_MASK, Session
from logdoctor.prefilter.plan import Expressions

_FORMAT = "logdoctor.hsdb/2"
_Handler = Callable[[int, int, int, int, object], "bool | None"]
_Scanner = Callable[["bytes | memoryview", _Handler], None]
_MOST_HITS = 1 << 16
"""More raw hits in one window than this, and the patterns that make them are thinned at once (bounds the memory)."""
_WASTE = 1_000_000
"""So many callbacks thrown away cost about what compiling costs."""
_WASTE_TO_LOAD = _WASTE // 50
"""So many cost what loading the usual split database costs."""
_WASTE_OF_ALL = _WASTE // 5
"""The same where what is compiled will serve every later run."""


def load(wanted: Expressions, cache_dir: Path | None, *, once: bool = False) -> HyperscanEngine:
    """The database for what is ``wanted`` from the cache, else compiled (and put there)."""
    return HyperscanEngine(wanted, cache_dir, hyperscan.HS_FLAG_SINGLEMATCH if once else 0)


class _Part(NamedTuple):
    """Some of the patterns, and the flag that they are compiled with."""

    flag: int
    ids: frozenset[int]


class Split(NamedTuple):
    """All patterns in two databases: the ``loud`` ones, of which it reports one hit a scan, and the ``rest``."""

    rest: hyperscan.Database
    loud: hyperscan.Database
    ids: frozenset[int]
    """The loud ones."""


class HyperscanEngine:
    """The database of all patterns, and for floods the same in two: what healthy logs are full of is apart."""

    name = "hyperscan"

    def __init__(self, wanted: Expressions, cache_dir: Path | None, flag: int = 0) -> None:
        self._wanted = wanted
        self._often = frozenset(wanted.often)
        self._cache_dir = cache_dir
        self._whole = _Part(flag, frozenset(range(wanted.count)))
        self._database = self._stored(self._whole) or self._compiled(self._whole)
        self._split: Split | None = None

    @property
    def has_split(self) -> bool:
        """Whether the usual split database is loaded."""
        return self._split is not None

    @property
    def keeps(self) -> bool:
        """Whether what is compiled is kept for the next time."""
        return self._cache_dir is not None

    def session(self) -> Session:
        """A session with its own scratch memory."""
        return _Session(self, self._database)

    def split(self, thinned: Collection[int], *, worth: bool) -> Split | None:
        """The databases for a flood of ``thinned``; None if there are none and compiling is not ``worth`` it.

        Those for all that are ``often``, the usual case, are kept; the others are one log's own.
        """
        loud = frozenset(thinned)
        usual = self._often <= loud
        if usual and self._split is None:
            self._split = self._usual_split(worth=worth)
        elif worth and loud != self._often:
            rest, loudest = map(self._compile, self._parts(loud))
            return Split(rest, loudest, loud)
        return self._split if usual else None

    def _usual_split(self, *, worth: bool) -> Split | None:
        parts = self._parts(self._often)
        stored = [self._stored(part) for part in parts]
        if not worth and not all(stored):
            return None
        rest, loud = (had or self._compiled(part) for had, part in zip(stored, parts, strict=True))
        return Split(rest, loud, self._often)

    def _parts(self, loud: frozenset[int]) -> tuple[_Part, _Part]:
        return _Part(self._whole.flag, self._whole.ids - loud), _Part(hyperscan.HS_FLAG_SINGLEMATCH, loud)

    def _stored(self, part: _Part) -> hyperscan.Database | None:
        path = self._path(part)
        stored = cached_files.read(path) if path else None
        if stored is not None:
            with suppress(Exception):  # cut, foreign or damaged: whatever it is, compiling again cures it
                return hyperscan.loadb(stored, hyperscan.HS_MODE_BLOCK)
        return None

    def _compiled(self, part: _Part) -> hyperscan.Database:
        database = self._compile(part)
        if path := self._path(part):
            cached_files.write(path, hyperscan.dumpb(database))
        return database

    def _compile(self, part: _Part) -> hyperscan.Database:
        forms = self._wanted.forms()
        ids = sorted(part.ids) or [0]
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(expressions=[forms[i] for i in ids], ids=ids, flags=[part.flag] * len(ids))
        return database

    def _path(self, part: _Part) -> Path | None:
        """Its name changes with the patterns, the engine's version and the platform."""
        if self._cache_dir is None:
            return None
        machine = os.uname().machine if hasattr(os, "uname") else ""
        version = getattr(hyperscan, "__version__", "")
        left_out = sorted(self._whole.ids - part.ids)
        made_of = (_FORMAT, version, sys.platform, machine, self._wanted.digest, part.flag, left_out)
        return self._cache_dir / f"{blake2b(repr(made_of).encode(), digest_size=16).hexdigest()}.hsdb"


class _Session:
    """Scans with the whole database, under a flood with the two of a split one."""

    def __init__(self, engine: HyperscanEngine, database: hyperscan.Database) -> None:
        self._engine = engine
        self._scan = self._scan_rest = _scanner(database)
        self._scan_loud: _Scanner | None = None
        self._loud = frozenset[int]()
        self._thinned = frozenset[int]()
        self._hits: list[int] = []
        self._collect = _collector(self._hits)
        self._wasted = 0
        self._worth = _WASTE_OF_ALL if engine.keeps else _WASTE

    def hits(self, window: memoryview, thinned: dict[int, int], *, silent: bool = False) -> list[int]:
        """See `Session.hits`."""
        self._hits.clear()
        if self._run(window, thinned, silent=silent):
            if silent:
                return list(self._hits)
            return self._hits + [end << ID_BITS | i for i, end in thinned.items() if end >= 0]
        return self._thin_out(window, thinned)

    def _split(self, thinned: AbstractSet[int]) -> None:
        """Take a split one when there is one, or when enough callbacks were thrown away to pay for it."""
        if self._scan_loud is None and self._wasted < _WASTE_TO_LOAD and not self._engine.has_split:
            return
        worth = self._wasted > self._worth
        if thinned == self._thinned and not worth:
            return
        self._thinned = frozenset(thinned)
        if not self._loud <= thinned:
            self._scan_rest, self._scan_loud, self._loud = self._scan, None, frozenset()
        split = self._engine.split(thinned, worth=worth)
        if split is not None and len(split.ids) > len(self._loud):
            self._scan_rest, self._scan_loud, self._loud = _scanner(split.rest), _scanner(split.loud), split.ids
            self._worth = max(self._worth, _WASTE)
        if worth:
            self._wasted, self._worth = 0, 2 * self._worth

    def _run(self, window: memoryview, thinned: dict[int, int], *, silent: bool = False) -> bool:
        """One pass; False if it was given up because of too many hits."""
        calls = count()
        try:
            if thinned:
                self._split(thinned.keys())
                self._scan_rest(window, _thinner(self._hits, thinned, calls.__next__))
                if self._scan_loud and not silent:
                    self._scan_loud(window, _marker(thinned))
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


def _scanner(database: hyperscan.Database) -> _Scanner:
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


def _marker(thinned: dict[int, int]) -> _Handler:
    """Notes where each of the ``thinned`` ends first; a database that reports each once throws nothing away."""

    def mark(pattern: int, _start: int, end: int, _flags: int, _context: object) -> None:
        if thinned[pattern] < 0:
            thinned[pattern] = end

    return mark

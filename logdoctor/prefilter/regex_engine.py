"""The last engine: the ``regex`` package, one pattern after another.  Slow, but always there, with the same answers.

A pattern is only compiled and searched where a literal that it asks for stands in the window.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import regex

from logdoctor.prefilter.engine import ID_BITS, Session
from logdoctor.prefilter.plan import Expressions


def load(wanted: Expressions, cache_dir: Path | None, *, once: bool = False) -> RegexEngine:
    """Look for what is ``wanted``; the rest is not needed."""
    del cache_dir, once
    return RegexEngine(wanted.forms())


class RegexEngine:
    """One `_Searcher` a pattern."""

    name = "regex"

    def __init__(self, patterns: Sequence[bytes]) -> None:
        self._searchers = [_Searcher(p) for p in patterns]

    def session(self) -> Session:
        """Nothing is kept between windows: the engine is its own session."""
        return self

    def hits(self, window: memoryview, thinned: dict[int, int], *, silent: bool = False) -> list[int]:
        """See `Session.hits`."""
        found: list[int] = []
        text = bytes(window)
        lower = text.lower()
        for i, searcher in enumerate(self._searchers):
            if (silent and i in thinned) or not searcher.possible(text, lower):
                continue
            matches = searcher.pattern.finditer(text)
            if i in thinned:
                thinned[i] = next((m.end() for m in matches), -1)
                matches = ()
            found.extend(m.end() << ID_BITS | i for m in matches)
        found.extend(end << ID_BITS | i for i, end in thinned.items() if end >= 0)
        return found

    def ids(self, text: bytes) -> tuple[int, ...]:
        """See `Session.ids`."""
        lower = text.lower()
        return tuple(i for i, s in enumerate(self._searchers) if s.possible(text, lower) and s.pattern.search(text))


class _Searcher:
    """One pattern and the literals one of which every match holds (none: always searched)."""

    def __init__(self, form: bytes) -> None:
        self._form = form
        tree = _parser().parse(form.decode("latin-1"), 0)
        self._caseless = bool(tree.state.flags & regex.IGNORECASE)
        self._literals = tuple(_required(tree))
        if self._caseless:
            self._literals = tuple(literal.lower() for literal in self._literals)

    @cached_property
    def pattern(self) -> Any:
        """Compiled on first need."""
        return regex.compile(self._form)

    def possible(self, text: bytes, lower: bytes) -> bool:
        """Whether a match could be there."""
        place = lower if self._caseless else text
        return not self._literals or any(literal in place for literal in self._literals)


def _parser() -> Any:
    return importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")


def _required(tree: Any) -> list[bytes]:
    """Literals of which every match of ``tree`` holds at least one; empty if that is not plain to see."""
    runs = [[b""]]
    branches: list[list[bytes]] = []
    for op, value in tree:
        if op.name == "LITERAL":
            runs[-1][0] += bytes((value,))
            continue
        runs.append([b""])
        if op.name == "BRANCH":
            branches.append(_required_of_all(value[1]))
        elif op.name == "SUBPATTERN":
            branches.append(_required(value[3]))
    known = [r for r in runs + branches if r and all(r)]
    return max(known, key=lambda r: min(len(literal) for literal in r), default=[])


def _required_of_all(branches: Any) -> list[bytes]:
    each = [_required(b) for b in branches]
    return [literal for found in each for literal in found] if all(each) else []

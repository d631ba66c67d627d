"""The last engine: the ``regex`` package, one pattern after another.

This engine is slow but always installed. It gives the same answers as the others.
A pattern is only compiled and searched if one of its required literals is in the window.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import regex

from logdoctor.matcher.engine import ID_BITS, Session
from logdoctor.matcher.plan import Plan


def load(plan: Plan, cache_dir: Path | None) -> RegexEngine:
    """Make an engine for the atoms. ``cache_dir`` is not used."""
    del cache_dir
    return RegexEngine([atom.expression for atom in plan.atoms], plan.inner)


class RegexEngine:
    name = "regex"

    def __init__(self, patterns: Sequence[bytes], inner: frozenset[int]) -> None:
        self._searchers = [_Searcher(p) for p in patterns]
        self._inner = inner

    def session(self) -> Session:
        """Return the engine itself, because it keeps no state between windows."""
        return self

    def hits(self, window: memoryview, throttled: dict[int, int], *, silent: bool = False) -> list[int]:
        hits: list[int] = []
        text = bytes(window)
        lower = text.lower()
        for i, searcher in enumerate(self._searchers):
            if i in self._inner or (silent and i in throttled) or not searcher.may_match(text, lower):
                continue
            matches = searcher.pattern.finditer(text)
            if i in throttled:
                throttled[i] = next((m.end() for m in matches), -1)
                matches = ()
            hits.extend(m.end() << ID_BITS | i for m in matches)
        hits.extend(end << ID_BITS | i for i, end in throttled.items() if end >= 0)
        return hits

    def ids(self, text: bytes) -> set[int]:
        lower = text.lower()
        return {i for i, s in enumerate(self._searchers) if s.may_match(text, lower) and s.pattern.search(text)}


class _Searcher:
    """One pattern and its required literals.

    Every match holds at least one of the literals. A pattern without such literals is always searched.
    """

    def __init__(self, form: bytes) -> None:
        self._form = form
        tree = _parser().parse(form.decode("latin-1"), 0)
        self._caseless = bool(tree.state.flags & regex.IGNORECASE)
        self._literals = tuple(_required_literals(tree))
        if self._caseless:
            self._literals = tuple(literal.lower() for literal in self._literals)

    @cached_property
    def pattern(self) -> Any:
        return regex.compile(self._form)

    def may_match(self, text: bytes, lower: bytes) -> bool:
        searched = lower if self._caseless else text
        return not self._literals or any(literal in searched for literal in self._literals)


def _parser() -> Any:
    return importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")


def _required_literals(tree: Any) -> list[bytes]:
    """Return literals of which every match of ``tree`` holds one.

    The result is empty if the tree is not simple enough to tell.
    """
    runs = [[b""]]
    branches: list[list[bytes]] = []
    for op, value in tree:
        if op.name == "LITERAL":
            runs[-1][0] += bytes((value,))
            continue
        runs.append([b""])
        if op.name == "BRANCH":
            branches.append(_branch_literals(value[1]))
        elif op.name == "SUBPATTERN":
            branches.append(_required_literals(value[3]))
    candidates = [r for r in runs + branches if r and all(r)]
    return max(candidates, key=lambda r: min(len(literal) for literal in r), default=[])


def _branch_literals(branches: Any) -> list[bytes]:
    required = [_required_literals(b) for b in branches]
    return [literal for branch in required for literal in branch] if all(required) else []

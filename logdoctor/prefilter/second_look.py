"""A second look at the lines that the scan picked: the whole pattern must hit, not only its most telling run.

It spares the parser the lines that merely share some words with a pattern.  With Hyperscan all whole patterns are one
database, asked once a line (2.5 microseconds for 1,400 patterns, Vectorscan 5.4.12); compiling it takes seconds, so
that is done only where the result can be kept.  Else each pattern is compiled when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from logdoctor.prefilter.engine import Session

SECONDS = 0.05
"""A line that takes longer is hostile: then the first look counts."""


class SecondLook:
    """``wholes[p]`` is the whole form of pattern ``p``, None where its atoms say all; ``owners[a]`` own atom ``a``."""

    def __init__(
        self, wholes: Sequence[str | None], owners: Sequence[Sequence[int]], together: Session | None = None
    ) -> None:
        """``together`` searches all patterns that have a whole form at once, numbered in their order."""
        self._wholes, self._owners, self._together = wholes, owners, together
        self._numbers = [p for p, whole in enumerate(wholes) if whole is not None]
        self._compiled: dict[int, Any] = {}

    def confirm(self, atoms: Iterable[int], line: bytes) -> tuple[int, ...]:
        """The patterns that own ``atoms`` and whose whole form hits in ``line``, ascending."""
        patterns = {p for a in set(atoms) for p in self._owners[a]}
        if self._together is not None:
            seen = {self._numbers[n] for n in self._together.ids(line)}
            return tuple(sorted(p for p in patterns if p in seen or self._wholes[p] is None))
        return tuple(sorted(p for p in patterns if self._wholes[p] is None or self._hits(p, line)))

    def _hits(self, pattern: int, line: bytes) -> bool:
        compiled = self._compiled.get(pattern)
        if compiled is None:
            import regex

            compiled = self._compiled[pattern] = regex.compile(str(self._wholes[pattern]).encode())
        try:
            return compiled.search(line, timeout=SECONDS) is not None
        except TimeoutError:
            return True

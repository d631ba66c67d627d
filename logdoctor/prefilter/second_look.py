"""A second look at the lines that the scan picked: the whole pattern must hit, not only its most telling run.

It costs a microsecond a hit and spares the parser the lines that merely share some words with a pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

SECONDS = 0.05
"""A line that takes longer is hostile: then the first look counts."""


class SecondLook:
    """``wholes[p]`` is the whole form of pattern ``p``, None where its atoms say all; ``owners[a]`` own atom ``a``."""

    def __init__(self, wholes: Sequence[str | None], owners: Sequence[Sequence[int]]) -> None:
        """Nothing is compiled before a pattern hits."""
        self._wholes, self._owners = wholes, owners
        self._compiled: dict[int, Any] = {}

    def confirm(self, atoms: Iterable[int], line: bytes) -> tuple[int, ...]:
        """The patterns that own ``atoms`` and whose whole form hits in ``line``, ascending."""
        patterns = {p for a in set(atoms) for p in self._owners[a]}
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

"""A second look at the lines that the scan picked: the whole pattern must hit, not only its most telling run.

It costs a microsecond a hit and spares the parser the lines that merely share some words with a pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

SECONDS = 0.05
"""A line that takes longer is hostile: then the first look counts."""


class SecondLook:
    """``wholes[i]`` is the whole form of pattern ``i``, None where the scan has already said it all."""

    def __init__(self, wholes: Sequence[str | None]) -> None:
        """Nothing is compiled before a pattern hits."""
        self._wholes = wholes
        self._compiled: dict[int, Any] = {}

    def confirm(self, ids: Iterable[int], line: bytes) -> tuple[int, ...]:
        """Those of ``ids`` whose whole form hits in ``line``, ascending."""
        return tuple(sorted(i for i in set(ids) if self._wholes[i] is None or self._hits(i, line)))

    def _hits(self, pattern: int, line: bytes) -> bool:
        compiled = self._compiled.get(pattern)
        if compiled is None:
            import regex

            compiled = self._compiled[pattern] = regex.compile(str(self._wholes[pattern]).encode())
        try:
            return compiled.search(line, timeout=SECONDS) is not None
        except TimeoutError:
            return True

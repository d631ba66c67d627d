"""Patterns derived from expressions before: when one rule of hundreds changes, the others' need no second thought."""

from __future__ import annotations

from pathlib import Path

import msgspec

from logdoctor import cached_files
from logdoctor.prefilter.pattern import Pattern
from logdoctor.prefilter.scanform import pattern_of

ROOM = 2
"""So many times as many as were asked for are kept: two sets of rules may be in use by turns."""


class KeptPatterns:
    """`pattern_of` with a memory; ``file`` is where it is kept, None for nowhere."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known = _read(file) if file else {}
        self._asked: dict[str, Pattern] = {}
        self._new = False

    def of(self, regex: str, *, often: bool = False, within: bool = False) -> Pattern:
        """See `logdoctor.prefilter.scanform.pattern_of`, also for what it raises."""
        key = f"{often:d}{within:d}{regex}"
        pattern = self._known.get(key)
        if pattern is None:
            pattern = pattern_of(regex, often=often, within=within)
            self._new = True
        self._asked[key] = pattern
        return pattern

    def keep(self) -> None:
        """Store what was asked for, for the next time."""
        if not self._new or not self._file:
            return
        others = {key: pattern for key, pattern in self._known.items() if key not in self._asked}
        kept = {**others, **self._asked} if len(others) <= (ROOM - 1) * len(self._asked) else self._asked
        cached_files.write(self._file, msgspec.json.encode(kept))


def _read(file: Path) -> dict[str, Pattern]:
    try:
        return msgspec.json.decode(cached_files.read(file) or b"", type=dict[str, Pattern])
    except ValueError:
        return {}

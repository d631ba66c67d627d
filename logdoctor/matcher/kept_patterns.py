"""A cache file of derived patterns.

When one of hundreds of rules changes, the patterns of the others are read from the file.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from logdoctor.matcher.pattern import Pattern
from logdoctor.matcher.scan_pattern import make_pattern
from logdoctor.pack import cached_files

SIZE_FACTOR = 2
"""Size of the file, as a multiple of the patterns of one run. Two sets of rules may be in use by turns."""


class PatternCache:
    """`make_pattern` with a cache file. ``file`` None means no cache."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._stored = _read(file) if file else {}
        self._used: dict[str, Pattern] = {}
        self._has_new = False

    def derive(self, regex: str, *, often: bool = False, within: bool = False) -> Pattern:
        """Return the pattern for ``regex``. Raises like `logdoctor.matcher.scan_pattern.make_pattern`."""
        key = f"{often:d}{within:d}{regex}"
        pattern = self._stored.get(key)
        if pattern is None:
            pattern = make_pattern(regex, often=often, within=within)
            self._has_new = True
        self._used[key] = pattern
        return pattern

    def save(self) -> None:
        """Write the patterns of this run to the file."""
        if not self._has_new or not self._file:
            return
        others = {key: pattern for key, pattern in self._stored.items() if key not in self._used}
        patterns = {**others, **self._used} if len(others) <= (SIZE_FACTOR - 1) * len(self._used) else self._used
        cached_files.write(self._file, msgspec.json.encode(patterns))


def _read(file: Path) -> dict[str, Pattern]:
    try:
        return msgspec.json.decode(cached_files.read(file) or b"", type=dict[str, Pattern])
    except ValueError:
        return {}

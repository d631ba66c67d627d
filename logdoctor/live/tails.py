"""Bytes that were written to files since the last look. Their size is asked for, which works on every file system."""

# Names are used exactly as the user wrote them, which pathlib does not do.
# ruff: noqa: PTH110, PTH112, PTH118, PTH207

from __future__ import annotations

import glob
import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from logdoctor.inputs.paths import may_be_log

MOST_FILES = 4096
MOST_AT_ONCE = 4 << 20
"""Bytes that are read of a file at one look. Of a longer burst only the end is read."""
TAILS, LONGEST_TAIL, SHORTEST_TAIL = 16 << 20, 128 << 10, 4 << 10
"""Bytes that are kept of the ends of all files, and the bounds of one."""
OVERLAP = 16
GAPS, WARM_UP = 32, 8


class Tail(Struct):
    """A file that grows."""

    path: str
    inode: int = -1
    offset: int = 0
    grown: float = 0.0
    """The time when it was last seen to grow."""
    gaps: deque[float] = field(default_factory=lambda: deque(maxlen=GAPS))
    """Seconds between its latest growths."""
    growths: int = 0
    longest_gap: float = 0.0
    """The longest time between two growths after the first `WARM_UP`, in which a program may load for long."""
    end: bytes = b""
    """Its last bytes."""
    fresh: int = 0
    """Number of the last bytes that nobody asked about yet, see `take_fresh`."""

    def read_new(self, now: float, most_kept: int = LONGEST_TAIL) -> bytes:
        """Return the bytes that were appended, below a few of those before them, so that no word is cut.

        A file that was cut, or replaced by another one, begins anew.
        """
        try:
            status = os.stat(self.path)  # noqa: PTH116 - takes any text
            is_known = status.st_ino == self.inode and status.st_size >= self.offset
            if not stat.S_ISREG(status.st_mode) or (is_known and status.st_size == self.offset):
                return b""
            if not is_known:
                self.inode, self.offset, self.end, self.fresh = status.st_ino, 0, b"", 0
            with open(self.path, "rb", buffering=0) as file:  # noqa: PTH123 - takes any text
                file.seek(max(self.offset, status.st_size - MOST_AT_ONCE))
                data = file.read(MOST_AT_ONCE) or b""
                self.offset = file.tell()
        except OSError:  # it is gone, or may not be read: it may come back
            return b""
        if data:
            self._keep(data, now, most_kept)
        return self.end[-OVERLAP - len(data) : -len(data)] + data if data else b""

    def _keep(self, data: bytes, now: float, most: int) -> None:
        self.end = (self.end + data)[-most:]
        self.fresh = min(self.fresh + len(data), len(self.end))
        if self.grown and now > self.grown:
            self.gaps.append(now - self.grown)
            if self.growths > WARM_UP:
                self.longest_gap = max(self.longest_gap, now - self.grown)
        self.grown = now
        self.growths += 1

    def take_fresh(self, before: int) -> bytes:
        """Return the bytes that were appended since the last call, and about ``before`` bytes above them."""
        count, self.fresh = self.fresh + before, 0
        return self.end if count >= len(self.end) else self.end[-count:].partition(b"\n")[2]

    @property
    def usual_gap(self) -> float:
        """Return the median of the seconds between its growths, 0 if there were too few to tell."""
        return sorted(self.gaps)[len(self.gaps) // 2] if len(self.gaps) >= 4 else 0.0


class Tails:
    """The files below some paths, those that appear later too."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self.files: dict[str, Tail] = {}

    def find(self) -> None:
        """Look for new files."""
        for path in self._walk():
            if len(self.files) >= MOST_FILES:
                return
            self.files.setdefault(path, Tail(path))

    def read_new(self, now: float) -> Iterator[tuple[Tail, bytes]]:
        """Yield the files that grew, with their new bytes."""
        most_kept = max(SHORTEST_TAIL, min(LONGEST_TAIL, TAILS // max(1, len(self.files))))
        for tail in self.files.values():
            if data := tail.read_new(now, most_kept):
                yield tail, data

    def _walk(self) -> Iterator[str]:
        for path in self._paths:
            if os.path.isdir(path):
                for folder, folders, names in os.walk(path):
                    folders[:] = sorted(name for name in folders if may_be_log(f"{name}/x"))
                    yield from (os.path.join(folder, name) for name in sorted(names) if may_be_log(name))
            elif os.path.exists(path) or not {*path} & {*"*?["}:
                yield path
            else:
                yield from sorted(glob.glob(path))

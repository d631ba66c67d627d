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
MOST_AT_ONCE = 1 << 20
"""Bytes that are read of a file at one look. The rest of a burst is read at the next ones."""
TAIL = 128 << 10
GAPS = 32


class Tail(Struct):
    """A file that grows."""

    path: str
    inode: int = -1
    offset: int = 0
    grown: float = 0.0
    """The time when it was last seen to grow."""
    gaps: deque[float] = field(default_factory=lambda: deque(maxlen=GAPS))
    """Seconds between its latest growths."""
    end: bytes = b""
    """Its last bytes."""

    def read_new(self, now: float) -> bytes:
        """Return the bytes that were appended. A file that was cut, or replaced by another one, begins anew."""
        try:
            with open(self.path, "rb", buffering=0) as file:  # noqa: PTH123 - takes any text
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    return b""
                if status.st_ino != self.inode or status.st_size < self.offset:
                    self.inode, self.offset, self.end = status.st_ino, 0, b""
                if status.st_size == self.offset:
                    return b""
                file.seek(self.offset)
                data = file.read(MOST_AT_ONCE) or b""
        except OSError:  # it is gone, or may not be read: it may come back
            return b""
        self.offset += len(data)
        self.end = (self.end + data)[-TAIL:]
        if self.grown and now > self.grown:
            self.gaps.append(now - self.grown)
        self.grown = now
        return data

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
        for tail in self.files.values():
            if data := tail.read_new(now):
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

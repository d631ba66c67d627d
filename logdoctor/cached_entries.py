"""Many entries in one file that only saves time, of which a run needs few: each is read when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from logdoctor import cached_files
from logdoctor.digests import blake2b

_KEY_BYTES = 12
_HEAD_BYTES = 8
"""The file begins with the size of its index, which tells the place and size of each entry behind it."""


class CachedEntries:
    """The entries of a file, by the digests of their names; none where it is missing, damaged or foreign."""

    def __init__(self, path: Path) -> None:
        """Read the index."""
        self._file = cached_files.opened(path)
        self._index: dict[bytes, tuple[int, int]] = {}
        self._start = 0
        with suppress(ValueError, OSError):
            size = int.from_bytes(self._read(0, _HEAD_BYTES), "little")
            self._start = _HEAD_BYTES + size
            self._index = msgspec.msgpack.decode(self._read(_HEAD_BYTES, size), type=dict[bytes, tuple[int, int]])

    def __del__(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def get(self, key: bytes) -> bytes | None:
        """The entry with that digest."""
        with suppress(KeyError, OSError, OverflowError):
            place, size = self._index[key]
            return self._read(self._start + place, size)
        return None

    def all(self) -> dict[bytes, bytes]:
        """All of them."""
        return {key: entry for key in self._index if (entry := self.get(key)) is not None}

    def _read(self, place: int, size: int) -> bytes:
        if self._file is None:
            return b""
        file = self._file.fileno()
        return os.pread(file, min(size, os.fstat(file).st_size), place)


def digest(name: str) -> bytes:
    """What an entry of that name is found by."""
    return blake2b(name.encode(errors="surrogatepass"), digest_size=_KEY_BYTES).digest()


def write(path: Path, entries: Mapping[bytes, bytes]) -> None:
    """Store the ``entries``, by their digests."""
    index, place = dict[bytes, tuple[int, int]](), 0
    ordered = sorted(entries.items())
    for key, entry in ordered:
        index[key] = place, len(entry)
        place += len(entry)
    head = msgspec.msgpack.encode(index)
    cached_files.write(path, len(head).to_bytes(_HEAD_BYTES, "little") + head + b"".join(e for _, e in ordered))

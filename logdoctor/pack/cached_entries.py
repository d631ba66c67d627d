"""Cache files with many entries, each read when it is needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from logdoctor.model.digests import blake2b
from logdoctor.pack import cached_files

_KEY_BYTES = 12
_HEAD_BYTES = 8
"""The file begins with the size of its index. The index gives offset and size of each entry."""


class CachedEntries:
    """The entries of a file, by the digests of their names.

    A missing, damaged or foreign file has no entries.
    """

    def __init__(self, path: Path) -> None:
        self._file = cached_files.open_trusted(path)
        self._index: dict[bytes, tuple[int, int]] = {}
        self._start = 0
        with suppress(ValueError, OSError):
            size = int.from_bytes(self._read(0, _HEAD_BYTES), "little")
            self._start = _HEAD_BYTES + size
            self._index = msgspec.msgpack.decode(self._read(_HEAD_BYTES, size), type=dict[bytes, tuple[int, int]])

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def get(self, key: bytes) -> bytes | None:
        with suppress(KeyError, OSError, OverflowError):
            offset, size = self._index[key]
            return self._read(self._start + offset, size)
        return None

    def all(self) -> dict[bytes, bytes]:
        return {key: entry for key in self._index if (entry := self.get(key)) is not None}

    def _read(self, offset: int, size: int) -> bytes:
        if self._file is None:
            return b""
        file = self._file.fileno()
        return os.pread(file, min(size, os.fstat(file).st_size), offset)


def digest(name: str) -> bytes:
    """Return the key of the entry with this name."""
    return blake2b(name.encode(errors="surrogatepass"), digest_size=_KEY_BYTES).digest()


def write(path: Path, entries: Mapping[bytes, bytes]) -> None:
    index, offset = dict[bytes, tuple[int, int]](), 0
    ordered = sorted(entries.items())
    for key, entry in ordered:
        index[key] = offset, len(entry)
        offset += len(entry)
    head = msgspec.msgpack.encode(index)
    cached_files.write(path, len(head).to_bytes(_HEAD_BYTES, "little") + head + b"".join(e for _, e in ordered))

"""UTF-16 and UTF-32 to UTF-8, piece by piece."""

from __future__ import annotations

import codecs

from logdoctor.sources.layers import Layer, Source


class Transcoded(Layer):
    """Text of another Unicode encoding as UTF-8; broken units become U+FFFD."""

    def __init__(self, source: Source, encoding: str) -> None:
        """Read ``source``, which is in ``encoding`` (a Python codec name; a byte order mark is dropped)."""
        self._source = source
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ready = b""
        self._ended = False

    def read(self, size: int, /) -> bytes:
        """See `Source.read`."""
        while not self._ready and not self._ended:
            data = self._source.read(max(size // 2, 64))
            self._ended = not data
            self._ready = self._decoder.decode(data or b"", final=self._ended).encode("utf-8", "replace")
        data, self._ready = self._ready[:size], self._ready[size:]
        return data


class WithoutMark(Layer):
    """UTF-8 text without the byte order mark at its start; every other byte stays as it is."""

    def __init__(self, source: Source) -> None:
        """Read ``source``, which begins with the three bytes of the mark."""
        self._source = source
        self._mark = 3

    def read(self, size: int, /) -> bytes:
        """See `Source.read`."""
        while self._mark:
            dropped = len(self._source.read(self._mark) or b"")
            self._mark = self._mark - dropped if dropped else 0
        return self._source.read(size) or b""

    def readinto(self, buffer: memoryview, /) -> int:
        """See `Source.readinto`."""
        return super().readinto(buffer) if self._mark else self._source.readinto(buffer) or 0

"""Conversion of UTF-16 and UTF-32 to UTF-8, in pieces."""

from __future__ import annotations

import codecs

from logdoctor.inputs.streams import ByteReader, Layer


class Transcoder(Layer):
    """Text of another Unicode encoding, read as UTF-8. Invalid code units become U+FFFD."""

    def __init__(self, reader: ByteReader, encoding: str) -> None:
        """Convert ``reader`` from ``encoding``, a Python codec that drops the mark."""
        self._reader = reader
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ready = b""
        self._ended = False

    def read(self, size: int, /) -> bytes:
        while not self._ready and not self._ended:
            data = self._reader.read(max(size // 2, 64))
            self._ended = not data
            self._ready = self._decoder.decode(data or b"", final=self._ended).encode("utf-8", "replace")
        data, self._ready = self._ready[:size], self._ready[size:]
        return data


class BomStripper(Layer):
    """UTF-8 text without the byte order mark at its start."""

    def __init__(self, reader: ByteReader) -> None:
        """Strip the first three bytes of ``reader``."""
        self._reader = reader
        self._bom_bytes = 3

    def read(self, size: int, /) -> bytes:
        while self._bom_bytes:
            dropped = len(self._reader.read(self._bom_bytes) or b"")
            self._bom_bytes = self._bom_bytes - dropped if dropped else 0
        return self._reader.read(size) or b""

    def readinto(self, buffer: memoryview, /) -> int:
        return super().readinto(buffer) if self._bom_bytes else self._reader.readinto(buffer) or 0

"""gzip, bzip2, xz and zstd read as streams; several members or frames after each other are one text.

The libraries are imported when the first file needs them.  gzip goes through isal (ISA-L, twice as fast) where it is
installed.  Whatever the file claims, memory stays small: zlib, bz2 and lzma take a limit for what they give, and zstd,
which takes none, is fed `Codec.piece` bytes at a time (a block of 4 bytes can give 128 KiB, RFC 8878 section 3.1.1.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from logdoctor.model import InputError
from logdoctor.sources.bounds import MIB, Budget
from logdoctor.sources.layers import Layer, Source

_CHUNK = 256 << 10
_TRAILER = 8
"""The checksum and length at the end of gzip (RFC 1952): fed last, so that a wrong one costs no text."""

_XZ_MEMORY = 256 * MIB
"""`xz -9` needs 65 MiB to unpack; a header can claim 4 GiB."""

_ZSTD_WINDOW = 128 * MIB
"""The window the zstd tool itself accepts without --long."""

_LONGEST_MAGIC = 6
_NOT_NUL = re.compile(rb"[^\0]")


class Decoder(Protocol):
    """One member of a compressed file, in the shape of `bz2.BZ2Decompressor`."""

    @property
    def eof(self) -> bool:
        """Whether the member's end was reached."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether ``decompress`` gives no more without more input."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What was given beyond the member's end."""
        ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Take ``data`` and return at most ``max_length`` bytes."""
        ...


class Codec(Struct, frozen=True):
    """A compression: what makes a decoder, what the decoder raises, and how many bytes it is fed at once."""

    name: str
    decoder: Callable[[], Decoder]
    errors: tuple[type[Exception], ...]
    magic: re.Pattern[bytes]
    piece: int = 8192


class Inflated(Layer):
    """The text of a compressed source."""

    def __init__(self, source: Source, codec: Codec, where: str, budget: Budget) -> None:
        """Read ``source``; ``where`` names the compressed file in errors."""
        self._source, self._codec, self._where, self._budget = source, codec, where, budget
        self._decoder: Decoder | None = codec.decoder()
        self._input = b""
        self._place = 0
        self._taken = 0
        self._given = 0
        self._error: InputError | None = None

    def read(self, size: int, /) -> bytes:
        """See `Source.read`.  An error comes again at every later reading."""
        if self._error:
            raise self._error
        try:
            return self._next(size)
        except InputError as error:
            self._error = error
        except self._codec.errors as error:
            why = f"the {self._codec.name} data is damaged: {error}"
            self._error = InputError("only the beginning was read", self._where, why, "copy the file again and compare")
        raise self._error

    def _next(self, size: int) -> bytes:
        while decoder := self._decoder:
            if decoder.eof:
                self._place -= len(decoder.unused_data)
                self._decoder = self._codec.decoder() if self._another() else None
                continue
            piece = b""
            if decoder.needs_input and not (piece := self._piece()):
                why = f"the {self._codec.name} data ends before its end mark"
                raise InputError("only the beginning was read", self._where, why, "copy the file again and compare")
            data = decoder.decompress(piece, size)
            if data:
                self._count(len(data))
                return data
        return b""

    def _piece(self) -> bytes:
        """The next bytes for the decoder; the last few of the file come alone."""
        self._fill(_TRAILER + 1)
        left = len(self._input) - self._place
        start = self._place
        self._place += min(self._codec.piece, left - _TRAILER if left > _TRAILER else left)
        return self._input[start : self._place]

    def _fill(self, wanted: int) -> None:
        """Have ``wanted`` bytes of input ready, fewer at the end of the source."""
        while len(self._input) - self._place < wanted and (more := self._source.read(_CHUNK)):
            self._taken += len(more)
            self._input = self._input[self._place :] + more
            self._place = 0

    def _another(self) -> bool:
        """Whether another member follows; padding with NUL bytes is passed over."""
        while True:
            self._fill(_LONGEST_MAGIC)
            if self._place >= len(self._input):
                return False
            found = _NOT_NUL.search(self._input, self._place)
            if found is None:
                self._place = len(self._input)
                continue
            self._place = found.start()
            self._fill(_LONGEST_MAGIC)
            if self._codec.magic.match(self._input, self._place):
                return True
            why = f"something that is no {self._codec.name} data stands behind its end"
            raise InputError("the end was not read", self._where, why, "see whether two files were written into one")

    def _count(self, count: int) -> None:
        self._given += count
        self._budget.inflate(count, self._where)
        check_ratio(self._taken, self._given, self._where, self._budget)


def check_ratio(taken: int, given: int, where: str, budget: Budget) -> None:
    """Raise `InputError` where ``given`` bytes out of ``taken`` is what only a bomb does."""
    bounds = budget.bounds
    if given > bounds.ratio_after and given > bounds.ratio * taken:
        why = f"it grows to more than {bounds.ratio} times its size"
        raise InputError("only the beginning was read", where, why, "if it is a real log, unpack it and give that")


def inflated(source: Source, name: str, where: str, budget: Budget) -> Inflated:
    """The text of ``source``, compressed as ``name`` says; raises `InputError` where its library is missing."""
    try:
        codec = _CODECS[name]()
    except ImportError as error:
        raise InputError("cannot be unpacked", where, f"no library for {name}: {error}", "unpack it first") from error
    return Inflated(source, codec, where, budget)


# ── the four ────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Gzip:
    """A decoder of ``zlib`` or ``isal_zlib`` in the shape of `Decoder`."""

    def __init__(self, decoder: Any) -> None:
        """Read one gzip member with ``decoder``, a ``decompressobj(31)``."""
        self._decoder = decoder
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._decoder.eof  # type: ignore[no-any-return]

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data  # type: ignore[no-any-return]

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        text: bytes = self._decoder.decompress(data or self._decoder.unconsumed_tail, max_length)
        self.needs_input = len(text) < max_length and not self._decoder.unconsumed_tail
        return text


class _Zstd:
    """A ``zstandard`` decompressobj, which knows no limit, in the shape of `Decoder`."""

    def __init__(self, decoder: Any) -> None:
        """Read one frame with ``decoder``."""
        self._decoder = decoder
        self._held = b""
        self._place = 0

    @property
    def needs_input(self) -> bool:
        return self._place >= len(self._held)

    @property
    def eof(self) -> bool:
        return self._decoder.eof and self.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data  # type: ignore[no-any-return]

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if data:
            self._held, self._place = self._decoder.decompress(data), 0
        text = self._held[self._place : self._place + max_length]
        self._place += len(text)
        return text


def _gzip() -> Codec:
    import zlib

    errors: tuple[type[Exception], ...] = (zlib.error, MemoryError)
    make: Callable[[int], Any] = zlib.decompressobj
    try:
        from isal import isal_zlib
    except ImportError:
        pass
    else:
        damaged: Any = isal_zlib.error  # its stub takes the class for an instance
        make, errors = isal_zlib.decompressobj, (*errors, damaged)
    return Codec("gzip", lambda: _Gzip(make(31)), errors, re.compile(rb"\x1f\x8b\x08"))


def _bzip2() -> Codec:
    import bz2

    return Codec("bzip2", bz2.BZ2Decompressor, (OSError, ValueError, MemoryError), re.compile(rb"BZh[1-9]"))


def _xz() -> Codec:
    import lzma

    return Codec(
        "xz",
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY),
        (lzma.LZMAError, MemoryError),
        re.compile(rb"\xfd7zXZ\0"),
    )


def _zstd() -> Codec:
    import zstandard

    return Codec(
        "zstd",
        lambda: _Zstd(zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()),
        (zstandard.ZstdError, MemoryError),
        re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
        piece=512,
    )


_CODECS: dict[str, Callable[[], Codec]] = {"gzip": _gzip, "bzip2": _bzip2, "xz": _xz, "zstd": _zstd}

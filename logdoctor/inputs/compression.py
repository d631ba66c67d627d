"""Readers for gzip, bzip2, xz and zstd data.

Concatenated members or frames are read as one text.
Each library is imported when the first file needs it.
gzip uses isal (ISA-L, twice as fast) if it is installed.
Memory stays small for any header: each decoder takes a limit on its output, xz and zstd one on their window too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from logdoctor.inputs.bounds import MIB, Budget
from logdoctor.inputs.streams import ByteReader, Layer
from logdoctor.model import InputError

_CHUNK = 256 << 10
_FEED = 8192
"""Bytes that a decoder is fed at once."""
_TRAILER = 8
"""Size of the checksum and length at the end of gzip (RFC 1952). Fed last, so a wrong checksum loses no text."""

_XZ_MEMORY = 256 * MIB
"""Memory limit: ``xz -9`` needs 65 MiB to unpack, a header can claim 4 GiB."""

_ZSTD_WINDOW_LOG = 27
"""Logarithm of the largest window, 128 MiB, that the zstd tool accepts without ``--long``."""

_LONGEST_MAGIC = 6
_NOT_NUL = re.compile(rb"[^\0]")


class Decoder(Protocol):
    """A decoder with the interface of `bz2.BZ2Decompressor`, for one member."""

    @property
    def eof(self) -> bool:
        """Report whether the end of the member was reached."""
        ...

    @property
    def needs_input(self) -> bool:
        """Report whether ``decompress`` needs more input to produce output."""
        ...

    @property
    def unused_data(self) -> bytes:
        """Return the input beyond the end of the member."""
        ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Take ``data`` and return at most ``max_length`` bytes."""
        ...


class Codec(Struct, frozen=True):
    """A compression format.

    ``errors``: exceptions that the decoder raises on damaged data.
    ``magic``: the first bytes of a member.
    """

    name: str
    decoder: Callable[[], Decoder]
    errors: tuple[type[Exception], ...]
    magic: re.Pattern[bytes]


class DecompressReader(Layer):
    """The decompressed text of a compressed reader."""

    def __init__(self, reader: ByteReader, codec: Codec, where: str, budget: Budget) -> None:
        """Decompress ``reader``. ``where`` names the compressed file in errors."""
        self._reader, self._codec, self._where, self._budget = reader, codec, where, budget
        self._decoder: Decoder | None = codec.decoder()
        self._input = b""
        self._position = 0
        self._bytes_in = 0
        self._bytes_out = 0
        self._error: InputError | None = None

    def read(self, size: int, /) -> bytes:
        """Read as in `ByteReader.read`. After an error every later call raises the same error."""
        if self._error:
            raise self._error
        try:
            return self._read_next(size)
        except InputError as error:
            self._error = error
        except self._codec.errors as error:
            why = f"the {self._codec.name} data is damaged: {error}"
            self._error = InputError("only the beginning was read", self._where, why, "copy the file again and compare")
        raise self._error

    def _read_next(self, size: int) -> bytes:
        while decoder := self._decoder:
            if decoder.eof:
                self._position -= len(decoder.unused_data)
                self._decoder = self._codec.decoder() if self._has_next_member() else None
                continue
            chunk = b""
            if decoder.needs_input and not (chunk := self._next_input()):
                why = f"the {self._codec.name} data ends before its end mark"
                raise InputError("only the beginning was read", self._where, why, "copy the file again and compare")
            data = decoder.decompress(chunk, size)
            if data:
                self._count_output(len(data))
                return data
        return b""

    def _next_input(self) -> bytes:
        """Return the next bytes for the decoder. The last 8 bytes of the file come alone."""
        self._fill(_TRAILER + 1)
        remaining = len(self._input) - self._position
        start = self._position
        self._position += min(_FEED, remaining - _TRAILER if remaining > _TRAILER else remaining)
        return self._input[start : self._position]

    def _fill(self, size: int) -> None:
        """Buffer ``size`` bytes of input, fewer at the end of the reader."""
        while len(self._input) - self._position < size and (more := self._reader.read(_CHUNK)):
            self._bytes_in += len(more)
            self._input = self._input[self._position :] + more
            self._position = 0

    def _has_next_member(self) -> bool:
        """Skip NUL padding and report whether another member follows."""
        while True:
            self._fill(_LONGEST_MAGIC)
            if self._position >= len(self._input):
                return False
            match = _NOT_NUL.search(self._input, self._position)
            if match is None:
                self._position = len(self._input)
                continue
            self._position = match.start()
            self._fill(_LONGEST_MAGIC)
            if self._codec.magic.match(self._input, self._position):
                return True
            why = f"something that is no {self._codec.name} data stands behind its end"
            raise InputError("the end was not read", self._where, why, "see whether two files were written into one")

    def _count_output(self, count: int) -> None:
        self._bytes_out += count
        self._budget.count_bytes(count, self._where)
        check_ratio(self._bytes_in, self._bytes_out, self._where, self._budget)


def check_ratio(bytes_in: int, bytes_out: int, where: str, budget: Budget) -> None:
    """Raise `InputError` if ``bytes_out`` is too large for ``bytes_in``."""
    bounds = budget.bounds
    if bytes_out > bounds.ratio_after and bytes_out > bounds.ratio * bytes_in:
        why = f"it grows to more than {bounds.ratio} times its size"
        raise InputError("only the beginning was read", where, why, "if it is a real log, unpack it and give that")


def decompress(reader: ByteReader, name: str, where: str, budget: Budget) -> DecompressReader:
    """Decompress ``reader`` with the codec ``name``. Raises `InputError` if its library is missing."""
    try:
        codec = _CODECS[name]()
    except ImportError as error:
        raise InputError("cannot be unpacked", where, f"no library for {name}: {error}", "unpack it first") from error
    return DecompressReader(reader, codec, where, budget)


# ── codecs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Gzip:
    """A decoder of ``zlib`` or ``isal_zlib`` as a `Decoder`."""

    def __init__(self, decoder: Any) -> None:
        """Wrap ``decoder``, a ``decompressobj(31)``."""
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


def _gzip_codec() -> Codec:
    import zlib

    errors: tuple[type[Exception], ...] = (zlib.error, MemoryError)
    new_decoder: Callable[[int], Any] = zlib.decompressobj
    try:
        from isal import isal_zlib
    except ImportError:
        pass
    else:
        isal_error: Any = isal_zlib.error  # its stub takes the class for an instance
        new_decoder, errors = isal_zlib.decompressobj, (*errors, isal_error)
    return Codec("gzip", lambda: _Gzip(new_decoder(31)), errors, re.compile(rb"\x1f\x8b\x08"))


def _bzip2_codec() -> Codec:
    import bz2

    return Codec("bzip2", bz2.BZ2Decompressor, (OSError, ValueError, MemoryError), re.compile(rb"BZh[1-9]"))


def _xz_codec() -> Codec:
    import lzma

    return Codec(
        "xz",
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY),
        (lzma.LZMAError, MemoryError),
        re.compile(rb"\xfd7zXZ\0"),
    )


def _zstd_codec() -> Codec:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    return Codec(
        "zstd",
        lambda: zstd.ZstdDecompressor(options=options),
        (zstd.ZstdError, MemoryError),
        re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
    )


_CODECS: dict[str, Callable[[], Codec]] = {
    "gzip": _gzip_codec,
    "bzip2": _bzip2_codec,
    "xz": _xz_codec,
    "zstd": _zstd_codec,
}

"""Tar archives, read as streams. Member names are never used to write files."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from typing import IO, Any, cast

from logdoctor.inputs.bounds import MIB, Budget
from logdoctor.inputs.compression import check_ratio
from logdoctor.inputs.streams import ByteReader, FailingReader, Layer
from logdoctor.model import InputError

_BUFFER = 256 << 10
_MAX_HEADER_BYTES = 2 * MIB
"""Bytes that tarfile may read between two members (headers, long names, pax records). It holds them in memory."""
_MAX_RECORD_BYTES = 64 << 10
"""Bytes that one long name or pax record may take."""

_DIGITS = re.compile(rb"[0-9]{100}")
"""No valid name or number in a header is that long. Older tarfile takes quadratic time over it (CVE-2024-6232)."""

_ERRORS = (tarfile.TarError, EOFError, ValueError, OverflowError, KeyError, IndexError, AttributeError, RecursionError)
"""Exceptions that tarfile raises on damaged files, including those its header parsing does not catch."""

_RECORD_TYPES = (b"x", b"g", b"X", b"L", b"K")
"""Header types of pax records (POSIX.1-2001, Solaris) and long names (GNU)."""


def read_tar(reader: ByteReader, where: str, budget: Budget) -> Iterator[tuple[str, ByteReader]]:
    """Yield name and bytes of each regular file. Raises `InputError` if the archive is damaged or cut."""
    tar_input = _TarInput(reader, where)
    try:
        tar_input.header_budget = _MAX_HEADER_BYTES
        with tarfile.TarFile(fileobj=cast("IO[bytes]", tar_input), tarinfo=_Header) as archive:
            while True:
                tar_input.header_budget = _MAX_HEADER_BYTES
                member = archive.next()
                archive.members.clear()  # type: ignore[attr-defined]  # else all headers stay in memory
                if member is None:
                    break
                tar_input.header_budget = None
                yield from _read_member(archive, member, where, budget, tar_input)
            if tar_input.error or not getattr(archive, "end_seen", False):
                raise tar_input.error or _cut_error(where)
    except _ERRORS as error:
        is_cut = "unexpected end of data" in str(error)  # tarfile's message if bytes of a member are missing
        raise tar_input.error or (_cut_error(where) if is_cut else _damaged_error(where, error)) from error


def _read_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, where: str, budget: Budget, tar_input: _TarInput
) -> Iterator[tuple[str, ByteReader]]:
    """Yield a regular file, then skip the rest of its bytes.

    Links name another member and devices hold nothing, so they are passed over.
    """
    if not member.isreg():
        return
    try:
        pieces: Any = member.sparse  # (offset, size) of each data part
        stored = member.size if pieces is None else sum(size for _, size in pieces)
        check_ratio(stored, member.size, f"{where}:{member.name}", budget)
    except InputError as error:
        yield member.name, FailingReader(error)
        return
    content = _Member(archive, member, where, tar_input)
    yield member.name, content
    while content.read(_BUFFER):
        pass


class _TarInput:
    """The archive as tarfile reads it, forwards only.

    An error of ``reader`` looks like the end of the file, so that no earlier member is lost.
    The error is kept in ``error``.
    ``header_budget`` is the number of bytes that tarfile may read for headers, None inside a member.
    """

    def __init__(self, reader: ByteReader, where: str) -> None:
        self._reader, self._where = reader, where
        self._position = 0
        self.header_budget: int | None = None
        self.error: InputError | OSError | None = None

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> None:
        """Skip to ``position``. Raises `tarfile.StreamError` if it lies behind."""
        if position < self._position:
            raise tarfile.StreamError("the headers point backwards")
        while position > self._position and self._take(position - self._position):
            pass

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end. Raises `tarfile.ReadError` for absurd headers."""
        if self.header_budget is not None and size > self.header_budget:
            raise tarfile.ReadError("the headers are of absurd size")
        pieces = []
        target = self._position + size
        while self._position < target and (piece := self._take(target - self._position)):
            pieces.append(piece)
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self.header_budget is not None:
            self.header_budget -= len(data)
            if len(data) > tarfile.BLOCKSIZE and _DIGITS.search(data):
                raise tarfile.ReadError("a header holds an absurd number")
        return data

    def _take(self, limit: int) -> bytes:
        try:
            data = b"" if self.error else self._reader.read(min(limit, _BUFFER)) or b""
        except (InputError, OSError) as error:
            self.error = error
            return b""
        self._position += len(data)
        return data


class _Member(Layer):
    def __init__(self, archive: tarfile.TarFile, member: tarfile.TarInfo, where: str, tar_input: _TarInput) -> None:
        self._where, self._input = where, tar_input
        # tarfile's own reader loses the last bytes of a member that is cut.
        self._file: Any = tar_input if member.sparse is None else archive.extractfile(member)
        self._remaining = member.size
        self._error: InputError | OSError | None = None

    def read(self, size: int, /) -> bytes:
        if self._error:
            raise self._error
        try:
            data: bytes = self._file.read(min(size, self._remaining))
        except (*_ERRORS, OSError):
            data = b""
        self._remaining -= len(data)
        if not data and self._remaining:
            self._error = self._input.error or _cut_error(self._where)
            raise self._error
        return data


class _Header(tarfile.TarInfo):
    """A header that records the end mark of an archive.

    `tarfile.TarFile.next` alone does not tell an end mark from a cut archive.
    """

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> tarfile.TarInfo:  # type: ignore[override]
        """Read the next header of ``tarfile_``."""
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            tarfile_.end_seen = True  # type: ignore[attr-defined]
            raise
        except tarfile.InvalidHeaderError as error:  # type: ignore[attr-defined]
            raise tarfile.ReadError(str(error)) from error

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        """Read the header in ``buf``. Raises `tarfile.ReadError` if a name or pax record is too large."""
        header = super().frombuf(buf, encoding, errors)
        if header.type in _RECORD_TYPES and header.size > _MAX_RECORD_BYTES:
            raise tarfile.ReadError(f"a header of {header.size} bytes")
        return header


def _cut_error(where: str) -> InputError:
    why = "the archive stops before its end mark"
    return InputError("only the beginning was read", where, why, "see whether the file was copied whole")


def _damaged_error(where: str, error: Exception) -> InputError:
    why = f"the archive is damaged: {error or type(error).__name__}"
    return InputError("only the beginning was read", where, why, "copy the file again and compare")

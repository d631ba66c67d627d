"""The members of a tar file, read as a stream.  Member names are names only: nothing is ever written."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from typing import IO, Any, cast

from logdoctor.model import InputError
from logdoctor.sources.bounds import MIB, Budget
from logdoctor.sources.compression import check_ratio
from logdoctor.sources.layers import Broken, Layer, Source

_BUFFER = 256 << 10
_HEADER_BYTES = 2 * MIB
"""What may be read between two members: headers, long names, pax records.  tarfile holds them in memory."""
_RECORD_BYTES = 64 << 10
"""What one long name or pax record may take."""

_DIGITS = re.compile(rb"[0-9]{100}")
"""No name or number in a header is that long, and older tarfile takes quadratic time over it (CVE-2024-6232)."""

_ERRORS = (tarfile.TarError, EOFError, ValueError, OverflowError, KeyError, IndexError, AttributeError, RecursionError)
"""What tarfile raises on damaged files (its own, and those that its header parsing lets through)."""

_RECORDS = (b"x", b"g", b"X", b"L", b"K")
"""Header types that hold pax records (POSIX.1-2001, Solaris) and long names (GNU)."""


def tar_members(source: Source, where: str, budget: Budget) -> Iterator[tuple[str, Source]]:
    """Name and bytes of each regular file; raises `InputError` where the archive breaks or ends early."""
    feed = _Feed(source, where)
    try:
        feed.allowed = _HEADER_BYTES
        with tarfile.TarFile(fileobj=cast("IO[bytes]", feed), tarinfo=_Header) as archive:
            while True:
                feed.allowed = _HEADER_BYTES
                member = archive.next()
                archive.members.clear()  # type: ignore[attr-defined]  # else every header of the archive stays in memory
                if member is None:
                    break
                feed.allowed = None
                yield from _files(archive, member, where, budget, feed)
            if feed.error or not getattr(archive, "end_seen", False):
                raise feed.error or _cut(where)
    except _ERRORS as error:
        cut = "unexpected end of data" in str(error)  # what tarfile says where a member's bytes are missing
        raise feed.error or (_cut(where) if cut else _damaged(where, error)) from error


def _files(
    archive: tarfile.TarFile, member: tarfile.TarInfo, where: str, budget: Budget, feed: _Feed
) -> Iterator[tuple[str, Source]]:
    """The member, if it is a file (links name another member, devices hold nothing); read to its end afterwards."""
    if not member.isreg():
        return
    try:
        pieces: Any = member.sparse  # (offset, size) of what is no hole
        stored = member.size if pieces is None else sum(size for _, size in pieces)
        check_ratio(stored, member.size, f"{where}:{member.name}", budget)
    except InputError as error:
        yield member.name, Broken(error)
        return
    content = _Member(archive, member, where, feed)
    yield member.name, content
    while content.read(_BUFFER):
        pass


class _Feed:
    """The archive as tarfile wants it, read onwards only.

    An error below is an early end here (and kept in ``error``), so that what was read before it is not lost.
    ``allowed`` is how much tarfile may take for headers now; None while a member is read.
    """

    def __init__(self, source: Source, where: str) -> None:
        self._source, self._where = source, where
        self._place = 0
        self.allowed: int | None = None
        self.error: InputError | OSError | None = None

    def tell(self) -> int:
        """How many bytes were read."""
        return self._place

    def seek(self, place: int) -> None:
        """Pass over everything before ``place``."""
        if place < self._place:
            raise tarfile.StreamError("the headers point backwards")
        while place > self._place and self._take(place - self._place):
            pass

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes, fewer at the end only; raises `tarfile.ReadError` for absurd headers."""
        if self.allowed is not None and size > self.allowed:
            raise tarfile.ReadError("the headers are of absurd size")
        pieces = []
        wanted = self._place + size
        while self._place < wanted and (piece := self._take(wanted - self._place)):
            pieces.append(piece)
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self.allowed is not None:
            self.allowed -= len(data)
            if len(data) > tarfile.BLOCKSIZE and _DIGITS.search(data):
                raise tarfile.ReadError("a header holds an absurd number")
        return data

    def _take(self, most: int) -> bytes:
        try:
            data = b"" if self.error else self._source.read(min(most, _BUFFER)) or b""
        except (InputError, OSError) as error:
            self.error = error
            return b""
        self._place += len(data)
        return data


class _Member(Layer):
    """One file of the archive."""

    def __init__(self, archive: tarfile.TarFile, member: tarfile.TarInfo, where: str, feed: _Feed) -> None:
        self._where, self._feed = where, feed
        # tarfile's own reader loses the last bytes of a member that is cut.
        self._file: Any = feed if member.sparse is None else archive.extractfile(member)
        self._left = member.size
        self._error: InputError | OSError | None = None

    def read(self, size: int, /) -> bytes:
        """See `Source.read`."""
        if self._error:
            raise self._error
        try:
            data: bytes = self._file.read(min(size, self._left))
        except (*_ERRORS, OSError):
            data = b""
        self._left -= len(data)
        if not data and self._left:
            self._error = self._feed.error or _cut(self._where)
            raise self._error
        return data


class _Header(tarfile.TarInfo):
    """A header that tells an end mark from an archive that only stops, which `tarfile.TarFile.next` does not."""

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
        """Read the header in ``buf``; raises `tarfile.ReadError` for a name or a pax record of absurd size."""
        header = super().frombuf(buf, encoding, errors)
        if header.type in _RECORDS and header.size > _RECORD_BYTES:
            raise tarfile.ReadError(f"a header of {header.size} bytes")
        return header


def _cut(where: str) -> InputError:
    why = "the archive stops before its end mark"
    return InputError("only the beginning was read", where, why, "see whether the file was copied whole")


def _damaged(where: str, error: Exception) -> InputError:
    why = f"the archive is damaged: {error or type(error).__name__}"
    return InputError("only the beginning was read", where, why, "copy the file again and compare")

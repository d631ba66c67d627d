"""The members of a zip file."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, cast

from logdoctor.model import InputError
from logdoctor.sources.bounds import Budget, size
from logdoctor.sources.compression import check_ratio
from logdoctor.sources.layers import Foreign, Layer, Source

_SMALL = 4096
_LIST_BYTES_EACH = 256
"""Room for one member in the list at the end of the file (46 bytes, its name and extras)."""

_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,  # also NotImplementedError: a compression that zipfile does not know
    ValueError,
    OverflowError,
    struct.error,
    LookupError,
    TypeError,
    AttributeError,
    MemoryError,
)
"""What zipfile raises on damaged files (its own, and those that its parsing lets through)."""


def zip_members(source: Source, where: str, budget: Budget) -> Iterator[tuple[str, Source]]:
    """Name and bytes of each file; raises `InputError` where the list of members cannot be read.

    A checkpoint of PyTorch is a zip file too and has no members for us.
    """
    file = _Seekable(_in_place(source, where, budget), where, budget)
    try:
        archive = zipfile.ZipFile(cast("IO[bytes]", file))
    except _ERRORS as error:
        why = f"the list of its files is missing or damaged: {error or type(error).__name__}"
        raise InputError("cannot be read", where, why, "see whether the file was copied whole") from error
    with archive:
        members = [info for info in archive.infolist() if not info.filename.endswith("/")]
        if any(info.filename.endswith("/data.pkl") for info in members):
            return
        locked = sum(info.flag_bits & 1 for info in members)
        ledger = _Ledger(where, file.size, budget)
        yield from ((i.filename, _Member(archive, i, ledger)) for i in members if not i.flag_bits & 1)
    if locked:
        why = f"{locked} of its {len(members)} files need a password"
        raise InputError("encrypted files were not read", where, why, "unpack it with the password and give the files")


def _in_place(source: Source, where: str, budget: Budget) -> Source:
    """``source`` itself if any place of it can be read, else its bytes held in memory."""
    if isinstance(source, (io.IOBase, Foreign)) and source.seekable():
        return source
    room = budget.bounds.zip_bytes
    held = io.BytesIO()
    while data := source.read(1 << 20):
        held.write(data)
        if held.tell() > room:
            why = f"a zip file that comes through a pipe or inside another archive is read up to {size(room)}"
            raise InputError("cannot be read", where, why, "give the zip file itself")
    held.seek(0)
    return held


class _Seekable:
    """The zip file as zipfile wants it, refusing the absurd list of members that it would hold in memory."""

    def __init__(self, file: Source, where: str, budget: Budget) -> None:
        self._file = cast("IO[bytes]", file)
        self._where = where
        self._most = max(1 << 20, budget.bounds.entries * _LIST_BYTES_EACH)
        self.tell, self.seek, self.seekable = self._file.tell, self._file.seek, self._file.seekable
        place = self.tell()
        self.size = self.seek(0, io.SEEK_END) - place
        self.seek(place)

    def read(self, count: int = -1) -> bytes:
        """Read ``count`` bytes, or to the end."""
        if count < 0:
            place = self.tell()
            count = max(0, self.seek(0, io.SEEK_END) - place)
            self.seek(place)
        if count > self._most:
            raise InputError("cannot be read", self._where, "it lists too many files", "unpack it first")
        data = b""
        while len(data) < count and (more := self._file.read(count - len(data))):
            data += more
        return data


class _Ledger:
    """What the members of one zip file gave in all: members may share their compressed bytes to make a bomb."""

    def __init__(self, where: str, taken: int, budget: Budget) -> None:
        self.where, self._taken, self._budget = where, taken, budget
        self._given = 0

    def count(self, given: int) -> None:
        """Count ``given`` bytes more; raises `InputError` over the bounds."""
        self._given += given
        self._budget.inflate(given, self.where)
        check_ratio(self._taken, self._given, self.where, self._budget)


class _Member(Layer):
    """One file of the archive, opened when it is first read."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, ledger: _Ledger) -> None:
        self._archive, self._info, self._ledger = archive, info, ledger
        self._file: IO[bytes] | None = None
        self._error: InputError | OSError | None = None
        # zipfile unpacks bzip2 and lzma without a limit: little is fed to them at once.
        self._most = 1 << 20 if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) else _SMALL

    def read(self, count: int, /) -> bytes:
        """See `Source.read`."""
        if self._error:
            raise self._error
        try:
            self._file = self._file or self._archive.open(self._info)
            data: bytes = self._file.read1(min(count, self._most))  # type: ignore[attr-defined]
            self._ledger.count(len(data))
        except InputError as error:
            self._error = error
        except _errors() as error:
            where = f"{self._ledger.where}:{self._info.filename}"
            why = f"the zip file is damaged there: {error or type(error).__name__}"
            if isinstance(error, NotImplementedError):
                why = f"it is packed in a way that is not known here: {error}"
            self._error = InputError("was not read whole", where, why, "unpack the archive and give the file")
        else:
            return data
        raise self._error


def _errors() -> tuple[type[Exception], ...]:
    try:
        from lzma import LZMAError
    except ImportError:
        return (*_ERRORS, OSError)
    return (*_ERRORS, OSError, LZMAError)

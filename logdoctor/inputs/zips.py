"""Zip archives: the files in them, read as streams."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, cast

from logdoctor.inputs.bounds import Budget, format_size
from logdoctor.inputs.compression import check_ratio
from logdoctor.inputs.streams import ByteReader, Guarded, Layer
from logdoctor.model import InputError

_SMALL_READ = 4096
_ENTRY_BYTES = 256
"""Bytes allowed per member in the list at the end of the file (46 bytes, name and extras)."""

_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,  # includes NotImplementedError, raised for an unknown compression
    ValueError,
    OverflowError,
    struct.error,
    LookupError,
    TypeError,
    AttributeError,
    MemoryError,
)
"""Exceptions that zipfile raises on damaged files, including those its parsing does not catch."""


def read_zip(reader: ByteReader, where: str, budget: Budget) -> Iterator[tuple[str, ByteReader]]:
    """Yield name and bytes of each file. Raises `InputError` if the member list cannot be read.

    A PyTorch checkpoint is a zip file too. None of its members are read.
    """
    file = _Seekable(_seekable_input(reader, where, budget), where, budget)
    try:
        archive = zipfile.ZipFile(cast("IO[bytes]", file))
    except _ERRORS as error:
        why = f"the list of its files is missing or damaged: {error or type(error).__name__}"
        raise InputError("cannot be read", where, why, "see whether the file was copied whole") from error
    with archive:
        members = [info for info in archive.infolist() if not info.filename.endswith("/")]
        if any(info.filename.endswith("/data.pkl") for info in members):
            return
        encrypted = sum(info.flag_bits & 1 for info in members)
        meter = _OutputMeter(where, file.size, budget)
        yield from ((i.filename, _Member(archive, i, meter)) for i in members if not i.flag_bits & 1)
    if encrypted:
        why = f"{encrypted} of its {len(members)} files need a password"
        raise InputError("encrypted files were not read", where, why, "unpack it with the password and give the files")


def _seekable_input(reader: ByteReader, where: str, budget: Budget) -> ByteReader:
    """Return ``reader`` if it is seekable, else its bytes in memory."""
    if isinstance(reader, (io.IOBase, Guarded)) and reader.seekable():
        return reader
    limit = budget.bounds.zip_bytes
    buffer = io.BytesIO()
    while data := reader.read(1 << 20):
        buffer.write(data)
        if buffer.tell() > limit:
            why = f"a zip file that comes through a pipe or inside another archive is read up to {format_size(limit)}"
            raise InputError("cannot be read", where, why, "give the zip file itself")
    buffer.seek(0)
    return buffer


class _Seekable:
    """The zip file as zipfile reads it.

    Member lists of absurd size are refused, because zipfile holds them in memory.
    """

    def __init__(self, file: ByteReader, where: str, budget: Budget) -> None:
        self._file = cast("IO[bytes]", file)
        self._where = where
        self._read_limit = max(1 << 20, budget.bounds.entries * _ENTRY_BYTES)
        self.tell, self.seek, self.seekable = self._file.tell, self._file.seek, self._file.seekable
        position = self.tell()
        self.size = self.seek(0, io.SEEK_END) - position
        self.seek(position)

    def read(self, count: int = -1) -> bytes:
        """Return ``count`` bytes, or all up to the end."""
        if count < 0:
            position = self.tell()
            count = max(0, self.seek(0, io.SEEK_END) - position)
            self.seek(position)
        if count > self._read_limit:
            raise InputError("cannot be read", self._where, "it lists too many files", "unpack it first")
        data = b""
        while len(data) < count and (more := self._file.read(count - len(data))):
            data += more
        return data


class _OutputMeter:
    """Count the output of all members of a zip file. The members of a bomb may share their compressed bytes."""

    def __init__(self, where: str, bytes_in: int, budget: Budget) -> None:
        self.where, self._bytes_in, self._budget = where, bytes_in, budget
        self._bytes_out = 0

    def count(self, bytes_out: int) -> None:
        """Count more output bytes. Raises `InputError` over the bounds."""
        self._bytes_out += bytes_out
        self._budget.count_bytes(bytes_out, self.where)
        check_ratio(self._bytes_in, self._bytes_out, self.where, self._budget)


class _Member(Layer):
    """One file of the archive, opened at its first read."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, meter: _OutputMeter) -> None:
        self._archive, self._info, self._meter = archive, info, meter
        self._file: IO[bytes] | None = None
        self._error: InputError | OSError | None = None
        # zipfile unpacks bzip2 and lzma without a limit, so little is read at once.
        self._read_limit = 1 << 20 if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) else _SMALL_READ

    def read(self, count: int, /) -> bytes:
        if self._error:
            raise self._error
        try:
            self._file = self._file or self._archive.open(self._info)
            data: bytes = self._file.read1(min(count, self._read_limit))  # type: ignore[attr-defined]
            self._meter.count(len(data))
        except InputError as error:
            self._error = error
        except _member_errors() as error:
            where = f"{self._meter.where}:{self._info.filename}"
            why = f"the zip file is damaged there: {error or type(error).__name__}"
            if isinstance(error, NotImplementedError):
                why = f"it is packed in a way that is not known here: {error}"
            self._error = InputError("was not read whole", where, why, "unpack the archive and give the file")
        else:
            return data
        raise self._error


def _member_errors() -> tuple[type[Exception], ...]:
    try:
        from lzma import LZMAError
    except ImportError:
        return (*_ERRORS, OSError)
    return (*_ERRORS, OSError, LZMAError)

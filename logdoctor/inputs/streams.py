"""Stacked readers of bytes, and the log streams made from them."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any, Protocol

from msgspec.structs import replace

from logdoctor.inputs.inventory import Inventory
from logdoctor.model import InputError, InputRead, Problem
from logdoctor.model.coverage import ReadState

HEAD_BYTES = 4096
"""Bytes at the start of a file that are inspected to detect its type."""

MAX_PROBLEMS = 200
"""Problems that are listed. Further problems are only counted, because long lists go unread."""


class ByteReader(Protocol):
    """Bytes that are read once, from an `io.FileIO` or a `Layer`. Raises `InputError` and `OSError`."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most ``size`` bytes. Empty only at the end."""
        ...

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill ``buffer`` and return the count of bytes. 0 only at the end."""
        ...


class Layer:
    """Base class of readers that implement ``read`` alone."""

    def read(self, size: int, /) -> bytes:
        raise NotImplementedError

    def readinto(self, buffer: memoryview, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class PushbackReader(Layer):
    """A reader that returns bytes already read, then the rest."""

    def __init__(self, head: bytes, rest: ByteReader) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
            return data
        return self._rest.read(size) or b""

    def readinto(self, buffer: memoryview, /) -> int:
        return super().readinto(buffer) if self._head else self._rest.readinto(buffer) or 0


class Guarded(Layer):
    """An open file from a caller, of any class, left open. Any exception of the file becomes an `InputError`."""

    def __init__(self, file: object, name: str) -> None:
        """Wrap ``file``. Of a text file the binary ``buffer`` below is read."""
        self.file = getattr(file, "buffer", file)
        self.name = name

    def read(self, size: int, /) -> bytes:
        """Call ``read1`` if there is one. ``read`` would lose buffered bytes if a later raw read fails."""
        return self._call("read1" if hasattr(self.file, "read1") else "read", size)  # type: ignore[no-any-return]

    def seekable(self) -> bool:
        return bool(getattr(self.file, "seekable", bool)())

    def tell(self) -> int:
        return self._call("tell")  # type: ignore[no-any-return]

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._call("seek", offset, whence)  # type: ignore[no-any-return]

    def _call(self, method: str, *args: int) -> Any:
        try:
            result = getattr(self.file, method)(*args)
        except Exception as error:
            raise InputError("reading failed", self.name, f"{type(error).__name__}: {error}") from error
        if isinstance(result, (bytes, int)):
            return result
        why = "it gives text instead of bytes" if isinstance(result, str) else "it does not wait for its bytes"
        raise InputError("this open file cannot be read", self.name, why, "open it with mode 'rb'")


class ProblemReporter:
    """Append errors to the problems of a job, each error object once, and what was not read to its inventory."""

    def __init__(self, problems: list[Problem], inventory: Inventory | None = None) -> None:
        self._problems = problems
        self.inventory = inventory or Inventory()
        self._reported_ids: set[int] = set()
        self._errors: list[BaseException] = []
        self.count = 0

    def __call__(self, error: InputError | OSError, where: str) -> None:
        """Report ``error``. ``where`` applies unless the error names a place itself."""
        if self.knows(error):
            return
        self._reported_ids.add(id(error))
        self._errors.append(error)  # keeps the object alive, because its id would be reused
        if isinstance(error, OSError):
            error = os_error(error, where)
        self.count += 1
        if self.count < MAX_PROBLEMS:
            self._problems.append(Problem(error.what, error.where or where, error.why, error.help))
        elif self.count == MAX_PROBLEMS:
            self._problems.append(Problem("more could not be read", "", f"the first {MAX_PROBLEMS} are listed"))

    def knows(self, error: InputError | OSError) -> bool:
        return id(error) in self._reported_ids

    def unread(
        self,
        error: InputError | OSError,
        where: str,
        kind: str,
        *,
        named: bool,
        matters: bool = True,
        read: ReadState = "not",
    ) -> None:
        """Report ``error``, and list the input ``where`` as not read."""
        self(error, where)
        self.inventory.add(InputRead(where, kind, read=read, why=_reason(error), named=named, matters=matters))


def _reason(error: InputError | OSError) -> str:
    error = os_error(error, "") if isinstance(error, OSError) else error
    return error.why or error.what


def os_error(error: OSError, where: str) -> InputError:
    """Convert an error of the operating system to an `InputError`."""
    why = os.strerror(error.errno) if error.errno else str(error)
    if isinstance(error, FileNotFoundError):
        return InputError("cannot be read", where, "there is no such file or folder", "check the path")
    if isinstance(error, PermissionError):
        return InputError("cannot be read", where, why, "run as a user who may read it, or ask for a copy")
    return InputError("cannot be read", where, why)


_BLANKS = b" \t\r\n\v\f\0"


class LogStream:
    """One log or document for the other rooms: plain bytes, never an error."""

    __slots__ = ("_content", "_error", "_has_nul", "_named", "_readinto", "_report", "document", "name")

    def __init__(
        self, name: str, reader: ByteReader, report: ProblemReporter, *, named: bool = False, document: str = ""
    ) -> None:
        """Read ``reader`` until its end or first error. Errors go to ``report``."""
        self.name, self.document = name, document
        self._readinto: Callable[[memoryview], int | None] = reader.readinto
        self._report, self._named = report, named
        self._error: InputError | OSError | None = None
        self._content = self._has_nul = False

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer`` and return the count of bytes. The count is 0 at the end and after an error."""
        try:
            count = self._readinto(buffer) or 0
        except (InputError, OSError) as error:
            self.fail(error)
            return 0
        if not self._content:
            self._look_for_content(bytes(buffer[:count]))
        return count

    def fail(self, error: InputError | OSError) -> None:
        """Report that the stream cannot be read on."""
        self._report(error, self.name)
        self._error = error
        self._readinto = io.BytesIO().readinto

    def _look_for_content(self, data: bytes) -> None:
        """Look at the next bytes, of which there are none at the end."""
        self._content = bool(data.strip(_BLANKS))
        self._has_nul = self._has_nul or b"\0" in data
        if self._has_nul and not data:
            self._error = InputError("was not read", self.name, "it holds NUL bytes only, so what was written is lost")
            self._report(self._error, self.name)

    def read_so_far(self, size: int, lines: int, records: int, cut_lines: int = 0) -> InputRead:
        """Return what was read of this log.

        ``cut_lines`` are those of which only the part around a match was looked at.
        """
        source = InputRead(self.name, self.document or "text", size, lines, records, named=self._named)
        if self._error is not None:
            read: ReadState = "part" if self._content and (records or not self.document) else "not"
            kind = "NUL bytes" if self._has_nul and not self._content else source.kind
            return replace(source, kind=kind, read=read, why=_reason(self._error), matters=True)
        if not size:
            return replace(source, kind="empty", why="it is empty")
        if not self._content:
            return replace(source, kind="blank", why="it holds blanks only")
        if cut_lines:
            why = "of its very long lines only the part around a known message was looked at"
            return replace(source, read="part", why=why)
        return source


def peek(reader: ByteReader, size: int = HEAD_BYTES) -> tuple[bytes, ByteReader]:
    """Return the first ``size`` bytes and a reader of all bytes.

    An error before the first byte is raised here. A later error is raised when the returned reader reaches it.
    """
    seekable = isinstance(reader, (io.IOBase, Guarded)) and reader.seekable()
    start = reader.tell() if seekable else 0  # type: ignore[attr-defined]
    head = b""
    try:
        while len(head) < size and (more := reader.read(size - len(head))):
            head += more
    except (InputError, OSError) as error:
        if not head:
            raise
        return head, PushbackReader(head, FailingReader(error))
    if seekable:
        reader.seek(start)  # type: ignore[attr-defined]
        return head, reader
    return head, PushbackReader(head, reader)


class FailingReader(Layer):
    """A reader that raises ``error`` at every read."""

    def __init__(self, error: InputError | OSError) -> None:
        self._error = error

    def read(self, _size: int, /) -> bytes:
        raise self._error


class SparseFileReader(Layer):
    """A file with large holes, each read as one NUL byte. Log rotation by copy-and-truncate leaves such holes."""

    def __init__(self, file: io.FileIO) -> None:
        """Read ``file`` from its current position."""
        self._file = file
        self._end = file.tell()

    def read(self, size: int, /) -> bytes:
        position = self._file.tell()
        if position < self._end:
            return self._file.read(min(size, self._end - position)) or b""
        try:
            data = os.lseek(self._file.fileno(), position, os.SEEK_DATA)
        except OSError:  # ENXIO: no data from here on
            return b""
        self._end = os.lseek(self._file.fileno(), data, os.SEEK_HOLE)
        os.lseek(self._file.fileno(), data, os.SEEK_SET)
        return b"\0" if data > position else self.read(size)


def skip_holes(reader: ByteReader) -> ByteReader:
    """Return a `SparseFileReader` for a large file that is mostly holes. Any other ``reader`` is returned as it is."""
    if not isinstance(reader, io.FileIO) or not hasattr(os, "SEEK_DATA") or not reader.seekable():
        return reader
    status = os.fstat(reader.fileno())
    return SparseFileReader(reader) if status.st_size > 1 << 20 and status.st_blocks * 1024 < status.st_size else reader

"""What the room reads from: byte sources stacked on each other, and the stream that is handed out."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any, Protocol

from logdoctor.model import InputError, Problem

HEAD_BYTES = 4096
"""How much of a file is looked at to see what it is."""

MAX_PROBLEMS = 200
"""More problems than this are counted, not listed: nobody reads them."""


class Source(Protocol):
    """Bytes to be read once: an `io.FileIO` or one of our layers.  Raises `InputError` and `OSError`."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most ``size`` bytes; nothing at the end only."""
        ...

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill ``buffer`` with the next bytes and return how many; 0 at the end only."""
        ...


class Layer:
    """A source that makes its bytes in ``read``."""

    def read(self, size: int, /) -> bytes:
        """See `Source.read`."""
        raise NotImplementedError

    def readinto(self, buffer: memoryview, /) -> int:
        """See `Source.readinto`."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class Rejoined(Layer):
    """The head that was looked at, then the rest."""

    def __init__(self, head: bytes, rest: Source) -> None:
        """Deliver ``head`` before ``rest``."""
        self._head = head
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        """See `Source.read`."""
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
            return data
        return self._rest.read(size) or b""

    def readinto(self, buffer: memoryview, /) -> int:
        """See `Source.readinto`."""
        return super().readinto(buffer) if self._head else self._rest.readinto(buffer) or 0


class Foreign(Layer):
    """An open file that a caller gave us: of any class, left open, and raising what it likes."""

    def __init__(self, file: object, name: str) -> None:
        """Wrap ``file``; of a text file the bytes below are taken."""
        self.file = getattr(file, "buffer", file)
        self.name = name

    def read(self, size: int, /) -> bytes:
        """See `Source.read`.  Reads once only: what a buffered file had before an error is not lost."""
        return self._call("read1" if hasattr(self.file, "read1") else "read", size)  # type: ignore[no-any-return]

    def seekable(self) -> bool:
        """Whether the file says that it can be read at any place."""
        return bool(getattr(self.file, "seekable", bool)())

    def tell(self) -> int:
        """The place in the file."""
        return self._call("tell")  # type: ignore[no-any-return]

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place in the file."""
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


class Reports:
    """Puts what went wrong into the job's list of problems, each error object once."""

    def __init__(self, problems: list[Problem]) -> None:
        """Append to ``problems``."""
        self._problems = problems
        self._known: set[int] = set()
        self._errors: list[BaseException] = []
        self.count = 0

    def __call__(self, error: InputError | OSError, where: str) -> None:
        """Note ``error``, which happened in ``where`` unless the error itself says where."""
        if id(error) in self._known:
            return
        self._known.add(id(error))
        self._errors.append(error)  # keeps the object alive, so that its id stays its own
        if isinstance(error, OSError):
            error = os_error(error, where)
        self.count += 1
        if self.count < MAX_PROBLEMS:
            self._problems.append(Problem(error.what, error.where or where, error.why, error.help))
        elif self.count == MAX_PROBLEMS:
            self._problems.append(Problem("more could not be read", "", f"the first {MAX_PROBLEMS} are listed"))


def os_error(error: OSError, where: str) -> InputError:
    """The error of the operating system in our words."""
    why = os.strerror(error.errno) if error.errno else str(error)
    if isinstance(error, FileNotFoundError):
        return InputError("cannot be read", where, "there is no such file or folder", "check the path")
    if isinstance(error, PermissionError):
        return InputError("cannot be read", where, why, "run as a user who may read it, or ask for a copy")
    return InputError("cannot be read", where, why)


class LogStream:
    """One log as the other rooms see it: plain bytes, and never an error."""

    __slots__ = ("_readinto", "_reports", "name")

    def __init__(self, name: str, source: Source, reports: Reports) -> None:
        """Read ``source`` to its end or to its first error, which goes to ``reports``."""
        self.name = name
        self._readinto: Callable[[memoryview], int | None] = source.readinto
        self._reports = reports

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer`` with the next bytes and return how many; 0 at the end, also where the log breaks."""
        try:
            return self._readinto(buffer) or 0
        except (InputError, OSError) as error:
            self._reports(error, self.name)
            self._readinto = io.BytesIO().readinto
            return 0


def look(source: Source, size: int = HEAD_BYTES) -> tuple[bytes, Source]:
    """The first ``size`` bytes of ``source`` (fewer if it is shorter), and a source that still delivers all of it.

    An error after the first byte comes again when the rest is read; one before it is raised here.
    """
    seekable = isinstance(source, (io.IOBase, Foreign)) and source.seekable()
    start = source.tell() if seekable else 0  # type: ignore[attr-defined]
    head = b""
    try:
        while len(head) < size and (more := source.read(size - len(head))):
            head += more
    except (InputError, OSError) as error:
        if not head:
            raise
        return head, Rejoined(head, Broken(error))
    if seekable:
        source.seek(start)  # type: ignore[attr-defined]
        return head, source
    return head, Rejoined(head, source)


class Broken(Layer):
    """A source of which nothing more can be read."""

    def __init__(self, error: InputError | OSError) -> None:
        """Raise ``error`` at every reading."""
        self._error = error

    def read(self, _size: int, /) -> bytes:
        """Raise the error."""
        raise self._error


class Sparse(Layer):
    """A file with large holes, as rotation by copy-and-truncate leaves them: a hole is read as one NUL byte."""

    def __init__(self, file: io.FileIO) -> None:
        """Read ``file`` from where it stands."""
        self._file = file
        self._end = file.tell()

    def read(self, size: int, /) -> bytes:
        """See `Source.read`."""
        place = self._file.tell()
        if place < self._end:
            return self._file.read(min(size, self._end - place)) or b""
        try:
            data = os.lseek(self._file.fileno(), place, os.SEEK_DATA)
        except OSError:  # ENXIO: no data from here on
            return b""
        self._end = os.lseek(self._file.fileno(), data, os.SEEK_HOLE)
        os.lseek(self._file.fileno(), data, os.SEEK_SET)
        return b"\0" if data > place else self.read(size)


def without_holes(source: Source) -> Source:
    """``source`` itself, or a `Sparse` reader where most of a large file on disk is holes."""
    if not isinstance(source, io.FileIO) or not hasattr(os, "SEEK_DATA") or not source.seekable():
        return source
    status = os.fstat(source.fileno())
    return Sparse(source) if status.st_size > 1 << 20 and status.st_blocks * 1024 < status.st_size else source

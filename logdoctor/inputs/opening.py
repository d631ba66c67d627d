"""Opening of files, and of files packed in them, down to text."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from typing import IO

from logdoctor.inputs.bounds import Budget
from logdoctor.inputs.encodings import BomStripper, Transcoder
from logdoctor.inputs.file_type import FileType, detect_type
from logdoctor.inputs.line_margins import strip_margins
from logdoctor.inputs.paths import InputFile, may_be_log
from logdoctor.inputs.streams import ByteReader, Guarded, LogStream, ProblemReporter, peek, skip_holes
from logdoctor.inputs.terminal_codes import CleanText
from logdoctor.inputs.wrapped_lines import join_wrapped_lines
from logdoctor.model import InputError

_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031  # fcntl.F_SETPIPE_SZ, which Python 3.10 has on Linux only


class Opener:
    """Turn the files of one job into log streams."""

    def __init__(self, report: ProblemReporter, budget: Budget) -> None:
        self._report, self._budget = report, budget
        self.log_count = 0
        self._file_ids: set[tuple[int, int]] = set()

    def open_path(self, input_file: InputFile) -> Iterator[LogStream]:
        """Yield the logs in a file that the job has not read yet.

        The same file may appear under several names.
        """
        name = printable_path(input_file.path)
        # A file in a folder may have become a pipe since it was listed. Opening must not wait for a writer there.
        flags = os.O_RDONLY | getattr(os, "O_NOCTTY", 0) | (0 if input_file.explicit else getattr(os, "O_NONBLOCK", 0))
        try:
            with io.FileIO(input_file.path, opener=lambda path, _: os.open(path, flags | os.O_CLOEXEC)) as file:
                if self._is_new(file, input_file, name):
                    yield from self._open_input(name, file, explicit=input_file.explicit)
        except (OSError, InputError) as error:
            self._report(error, name)

    def _is_new(self, file: io.FileIO, input_file: InputFile, name: str) -> bool:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            identity = (status.st_dev, status.st_ino)
            is_known = identity in self._file_ids
            self._file_ids.add(identity)
            return not is_known
        if input_file.explicit and stat.S_ISFIFO(status.st_mode):
            _enlarge_pipe(file)
            return True
        raise InputError("was not read", name, "it is a pipe, a device or a socket, not a file", "name it on its own")

    def open_stdin(self) -> Iterator[LogStream]:
        name = "<stdin>"
        buffer = getattr(sys.stdin, "buffer", None)
        if buffer is None:
            self._report(InputError("cannot be read", name, "standard input is closed"), name)
            return
        raw = getattr(buffer, "raw", None)
        if not isinstance(raw, io.FileIO):
            yield from self.open_file(buffer, name)
            return
        try:
            os.set_blocking(raw.fileno(), True)  # Node and ssh leave a shared terminal non-blocking
            _enlarge_pipe(raw)
            yield from self._open_input(name, raw, explicit=True)
        except (OSError, InputError) as error:
            self._report(error, name)

    def open_file(self, file: IO[bytes], name: str = "") -> Iterator[LogStream]:
        """Yield the logs in an open file, which stays open."""
        file_name = getattr(file, "name", None)
        name = name or (printable_path(file_name) if isinstance(file_name, str) else "<open file>")
        try:
            yield from self._open_input(name, Guarded(file, name), explicit=True)
        except InputError as error:
            self._report(error, name)

    def _open_input(self, name: str, reader: ByteReader, *, explicit: bool) -> Iterator[LogStream]:
        """Yield the logs of a file. Raises `InputError` if an explicitly named file holds none."""
        problems_before = self._report.count
        logs_before = self.log_count
        yield from self._unpack(name, reader, 0, explicit=explicit)
        if explicit and (logs_before, problems_before) == (self.log_count, self._report.count):
            raise InputError("holds no log", name, "nothing in it is text", "give the output of the job")

    def _unpack(self, name: str, reader: ByteReader, depth: int, *, explicit: bool) -> Iterator[LogStream]:
        """Yield ``reader`` if it is text, else the logs packed in it."""
        head, reader = peek(reader)
        file_type = detect_type(head)
        if file_type.kind == "text":
            self.log_count += 1
            yield LogStream(name, _decode_text(reader, file_type.detail), self._report)
        elif file_type.kind == "compressed":
            self._budget.check_depth(depth, name)
            from logdoctor.inputs.compression import decompress

            yield from self._unpack(
                name, decompress(reader, file_type.detail, name, self._budget), depth + 1, explicit=explicit
            )
        elif file_type.kind in ("tar", "zip"):
            self._budget.check_depth(depth, name)
            yield from self._unpack_members(name, self._read_archive(file_type.kind, reader, name), depth)
        elif explicit or file_type.kind != "data":
            raise _no_log_error(file_type, name)

    def _read_archive(self, kind: str, reader: ByteReader, name: str) -> Iterator[tuple[str, ByteReader]]:
        if kind == "tar":
            from logdoctor.inputs.tars import read_tar

            return read_tar(reader, name, self._budget)
        from logdoctor.inputs.zips import read_zip

        return read_zip(reader, name, self._budget)

    def _unpack_members(self, name: str, members: Iterator[tuple[str, ByteReader]], depth: int) -> Iterator[LogStream]:
        for path, reader in members:
            self._budget.count_entry(name)
            if not may_be_log(path):
                continue
            member = f"{name}:{printable_path(path)}"
            try:
                yield from self._unpack(member, reader, depth + 1, explicit=False)
            except (InputError, OSError) as error:
                self._report(error, member)


def _decode_text(reader: ByteReader, encoding: str) -> ByteReader:
    """Return the text in UTF-8, without codes, margins and line wraps."""
    if encoding == "utf-8":
        reader = skip_holes(reader)
    else:
        reader = BomStripper(reader) if encoding == "utf-8-sig" else Transcoder(reader, encoding)
    return join_wrapped_lines(strip_margins(CleanText(reader)))


def _no_log_error(file_type: FileType, name: str) -> InputError:
    if file_type.kind == "unsupported":
        return InputError("cannot be unpacked", name, f"{file_type.detail} is not supported", "unpack it first")
    return InputError("was not read", name, f"it is {file_type.detail}, not text", "give the output of the job")


def _enlarge_pipe(pipe: io.FileIO) -> None:
    """Let a pipe hold 1 MiB (Linux only).

    Writer and reader then wait less often for each other.
    """
    try:
        import fcntl

        fcntl.fcntl(pipe.fileno(), _F_SETPIPE_SZ, _PIPE_BYTES)
    except (ImportError, OSError):
        return


def printable_path(path: str) -> str:
    """Replace unprintable characters of a path by U+FFFD.

    These are broken bytes, newlines and terminal codes.
    """
    return "".join(c if c.isprintable() else "\ufffd" for c in path)

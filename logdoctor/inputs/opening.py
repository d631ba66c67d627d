"""Opening of files, and of files packed in them, down to text."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from collections.abc import Iterator
from typing import IO

from logdoctor.artefacts import detect_kind
from logdoctor.inputs.bounds import Budget
from logdoctor.inputs.encodings import BomStripper, Transcoder
from logdoctor.inputs.file_type import FileType, detect_type
from logdoctor.inputs.json_documents import DOCUMENT_BYTES, detect_document, may_be_document
from logdoctor.inputs.line_margins import strip_margins
from logdoctor.inputs.paths import InputFile, is_hidden, may_be_log
from logdoctor.inputs.streams import ByteReader, Guarded, LogStream, ProblemReporter, peek, skip_holes
from logdoctor.inputs.terminal_codes import CleanText
from logdoctor.inputs.wrapped_lines import join_wrapped_lines
from logdoctor.model import InputError, InputRead

_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031  # fcntl.F_SETPIPE_SZ, which Python 3.10 has on Linux only


class Opener:
    """Turn the files of one job into log streams, and list what is none."""

    def __init__(self, report: ProblemReporter, budget: Budget, *, found: bool = False) -> None:
        """``found``: the user named no file, not even those that are given as paths."""
        self._report, self._budget, self._found = report, budget, found
        self.log_count = 0
        self._file_ids: set[tuple[int, int]] = set()

    def open_path(self, input_file: InputFile) -> Iterator[LogStream]:
        """Yield the logs in a file that the job has not read yet. The same file may appear under several names."""
        name, named = printable_path(input_file.path), input_file.explicit and not self._found
        try:
            with _open(input_file.path, wait=named) as file:
                if self._is_new(file, name, named=named):
                    yield from self._open_input(name, file, named=named)
        except (OSError, InputError) as error:
            self._report.unread(error, name, "unreadable", named=named)

    def _is_new(self, file: io.FileIO, name: str, *, named: bool) -> bool:
        """Report whether the file was not read yet and can be read."""
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            identity = (status.st_dev, status.st_ino)
            is_known = identity in self._file_ids
            self._file_ids.add(identity)
            return not is_known
        if named and stat.S_ISFIFO(status.st_mode):
            _enlarge_pipe(file)
            return True
        error = InputError("was not read", name, "it is a pipe, a device or a socket, not a file", "name it on its own")
        self._report.unread(error, name, "pipe, device or socket", named=named, matters=named)
        return False

    def open_stdin(self) -> Iterator[LogStream]:
        name = "<stdin>"
        buffer = getattr(sys.stdin, "buffer", None)
        if buffer is None:
            self._report.unread(InputError("cannot be read", name, "standard input is closed"), name, "", named=True)
            return
        raw = getattr(buffer, "raw", None)
        if not isinstance(raw, io.FileIO):
            yield from self.open_file(buffer, name)
            return
        try:
            os.set_blocking(raw.fileno(), True)  # Node and ssh leave a shared terminal non-blocking
            _enlarge_pipe(raw)
        except OSError as error:
            self._report.unread(error, name, "unreadable", named=True)
            return
        yield from self._open_input(name, raw, named=True)

    def open_file(self, file: IO[bytes], name: str = "") -> Iterator[LogStream]:
        """Yield the logs in an open file, which stays open."""
        file_name = getattr(file, "name", None)
        name = name or (printable_path(file_name) if isinstance(file_name, str) else "<open file>")
        yield from self._open_input(name, Guarded(file, name), named=not self._found)

    def open_other(self, path: str) -> Iterator[LogStream]:
        """Yield a found file whose name is not that of a log, if it is a document that is read. List any other."""
        name = printable_path(path)
        try:
            with open_found(path) as file:
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    yield from self._open_other(name, file)
        except OSError as error:
            self._report.inventory.add(InputRead(name, "unreadable", read="not", why=os.strerror(error.errno or 0)))

    def _open_other(self, name: str, reader: ByteReader) -> Iterator[LogStream]:
        head, reader = peek(reader)
        file_type = detect_type(head)
        if document := self._as_document(file_type, name, head, reader, named=False):
            yield document
            return
        kind = file_type.name if file_type.kind == "data" else "a source" if file_type.kind == "text" else "data"
        if file_type.is_evidence:
            self._report.unread(_no_log_error(file_type, name), name, kind, named=False)
        else:
            self._report.inventory.add(InputRead(name, kind, read="not", why=NO_EVIDENCE))

    def _open_input(self, name: str, reader: ByteReader, *, named: bool) -> Iterator[LogStream]:
        """Yield the logs of a file. An explicitly named file that holds none is a problem."""
        problems_before = self._report.count
        logs_before = self.log_count
        yield from self._unpack(name, reader, 0, named=named)
        if named and (logs_before, problems_before) == (self.log_count, self._report.count):
            error = InputError("holds no log", name, "nothing in it is text", "give the output of the job")
            self._report.unread(error, name, "an archive", named=True)

    def _unpack(self, name: str, reader: ByteReader, depth: int, *, named: bool) -> Iterator[LogStream]:
        """Yield ``reader`` if it is text, else the logs packed in it. What cannot be read becomes a problem."""
        kind, inputs = "unreadable", self._report.inventory.count
        try:
            head, reader = peek(reader)
            file_type = detect_type(head)
            if document := self._as_document(file_type, name, head, reader, named=named):
                yield document
                return
            if file_type.kind == "text" and not named and may_be_document(head):
                head, reader = peek(reader, DOCUMENT_BYTES)
                file_type = detect_document(head) or file_type
            kind = file_type.name
            yield from self._unpack_type(file_type, name, reader, depth, named=named)
        except (InputError, OSError) as error:
            listed = self._report.inventory.count > inputs
            if not (listed and self._report.knows(error)):  # else a member that is cut tells it
                self._report.unread(error, name, kind, named=named, read="part" if listed else "not")

    def _as_document(
        self, file_type: FileType, name: str, head: bytes, reader: ByteReader, *, named: bool
    ) -> LogStream | None:
        """Return the file as a document of a kind that is read."""
        if file_type.kind not in ("text", "data", "binary"):
            return None
        if file_type.kind == "text":
            reader = _to_utf8(reader, file_type.detail)
            if file_type.detail != "utf-8":
                head = head.decode(file_type.detail, "replace").encode()
        kind = detect_kind(head)
        if not kind:
            return None
        self.log_count += 1
        return LogStream(name, reader, self._report, named=named, document=kind)

    def _unpack_type(
        self, file_type: FileType, name: str, reader: ByteReader, depth: int, *, named: bool
    ) -> Iterator[LogStream]:
        if file_type.kind == "text":
            self.log_count += 1
            yield LogStream(name, _decode_text(reader, file_type.detail), self._report, named=named)
        elif file_type.kind == "compressed":
            self._budget.check_depth(depth, name)
            from logdoctor.inputs.compression import decompress

            unpacked = decompress(reader, file_type.detail, name, self._budget)
            yield from self._unpack(name, unpacked, depth + 1, named=named)
        elif file_type.kind in ("tar", "zip"):
            self._budget.check_depth(depth, name)
            yield from self._unpack_members(name, self._read_archive(file_type.kind, reader, name), depth)
        elif named or file_type.kind != "data" or file_type.is_evidence:
            raise _no_log_error(file_type, name)
        else:
            self._report.inventory.add(InputRead(name, file_type.name, read="not", why=NO_EVIDENCE))

    def _read_archive(self, kind: str, reader: ByteReader, name: str) -> Iterator[tuple[str, ByteReader]]:
        if kind == "tar":
            from logdoctor.inputs.tars import read_tar

            return read_tar(reader, name, self._budget)
        from logdoctor.inputs.zips import read_zip

        return read_zip(reader, name, self._budget)

    def _unpack_members(self, name: str, members: Iterator[tuple[str, ByteReader]], depth: int) -> Iterator[LogStream]:
        for path, reader in members:
            self._budget.count_entry(name)
            member = f"{name}:{printable_path(path)}"
            if may_be_log(path):
                yield from self._unpack(member, reader, depth + 1, named=False)
            elif not is_hidden(path):
                with contextlib.suppress(InputError, OSError):  # the archive reports the same error again
                    yield from self._open_other(member, reader)


NO_EVIDENCE = "it is no log"


def open_found(path: str) -> io.FileIO:
    """Open a file that a folder lists. It may have become a pipe since, which is not waited for."""
    return _open(path, wait=False)


def _open(path: str, *, wait: bool) -> io.FileIO:
    flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOCTTY", 0) | (0 if wait else getattr(os, "O_NONBLOCK", 0))
    return io.FileIO(path, opener=lambda name, _: os.open(name, flags))


def _decode_text(reader: ByteReader, encoding: str) -> ByteReader:
    """Return the text in UTF-8, without codes, margins and line wraps."""
    return join_wrapped_lines(strip_margins(CleanText(_to_utf8(reader, encoding))))


def _to_utf8(reader: ByteReader, encoding: str) -> ByteReader:
    if encoding == "utf-8":
        return skip_holes(reader)
    return BomStripper(reader) if encoding == "utf-8-sig" else Transcoder(reader, encoding)


def _no_log_error(file_type: FileType, name: str) -> InputError:
    if file_type.kind == "unsupported":
        return InputError("cannot be unpacked", name, f"{file_type.detail} is not supported", "unpack it first")
    why = (
        f"it is {file_type.detail}, which is not read"
        if file_type.is_evidence
        else f"it is {file_type.detail}, not text"
    )
    return InputError("was not read", name, why, "give the output of the job")


def _enlarge_pipe(pipe: io.FileIO) -> None:
    """Let a pipe hold 1 MiB (Linux only). Writer and reader then wait less often for each other."""
    try:
        import fcntl

        fcntl.fcntl(pipe.fileno(), _F_SETPIPE_SZ, _PIPE_BYTES)
    except (ImportError, OSError):
        return


def printable_path(path: str) -> str:
    """Replace unprintable characters of a path by U+FFFD. These are broken bytes, newlines and terminal codes."""
    return "".join(c if c.isprintable() else "\ufffd" for c in path)

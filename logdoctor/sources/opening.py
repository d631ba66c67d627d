"""Opens files and whatever is packed in them, layer by layer, down to the text."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from typing import IO

from logdoctor.model import InputError
from logdoctor.sources.bounds import Budget
from logdoctor.sources.disguises import Undisguised
from logdoctor.sources.encodings import Transcoded, WithoutMark
from logdoctor.sources.forms import Form, form_of
from logdoctor.sources.layers import Foreign, LogStream, Reports, Source, look, without_holes
from logdoctor.sources.margins import without_margins
from logdoctor.sources.paths import Found, may_be_log
from logdoctor.sources.wrapped_lines import unwrapped

_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031  # fcntl.F_SETPIPE_SZ, which Python 3.10 has on Linux only


class Opener:
    """Turns the files of one job into streams."""

    def __init__(self, reports: Reports, budget: Budget) -> None:
        """Tell ``reports`` what cannot be read; use no more than ``budget``."""
        self._reports, self._budget = reports, budget
        self.opened = 0
        self._files: set[tuple[int, int]] = set()

    def file(self, found: Found) -> Iterator[LogStream]:
        """The logs in a file; none if the job read the same file under another name already."""
        name = shown(found.path)
        # A file in a folder may have become a pipe since it was listed: never wait for a writer there.
        flags = os.O_RDONLY | getattr(os, "O_NOCTTY", 0) | (0 if found.named else getattr(os, "O_NONBLOCK", 0))
        try:
            with io.FileIO(found.path, opener=lambda path, _: os.open(path, flags | os.O_CLOEXEC)) as file:
                if self._new(file, found, name):
                    yield from self._whole(name, file, named=found.named)
        except (OSError, InputError) as error:
            self._reports(error, name)

    def _new(self, file: io.FileIO, found: Found, name: str) -> bool:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            identity = (status.st_dev, status.st_ino)
            known = identity in self._files
            self._files.add(identity)
            return not known
        if found.named and stat.S_ISFIFO(status.st_mode):
            _widen(file)
            return True
        raise InputError("was not read", name, "it is a pipe, a device or a socket, not a file", "name it on its own")

    def standard_input(self) -> Iterator[LogStream]:
        """What comes through standard input."""
        name = "<stdin>"
        buffer = getattr(sys.stdin, "buffer", None)
        if buffer is None:
            self._reports(InputError("cannot be read", name, "standard input is closed"), name)
            return
        raw = getattr(buffer, "raw", None)
        if not isinstance(raw, io.FileIO):
            yield from self.open_file(buffer, name)
            return
        try:
            os.set_blocking(raw.fileno(), True)  # terminals shared with Node or ssh are left without
            _widen(raw)
            yield from self._whole(name, raw, named=True)
        except (OSError, InputError) as error:
            self._reports(error, name)

    def open_file(self, file: IO[bytes], name: str = "") -> Iterator[LogStream]:
        """The logs in an open file, which stays open."""
        given = getattr(file, "name", None)
        name = name or (shown(given) if isinstance(given, str) else "<open file>")
        try:
            yield from self._whole(name, Foreign(file, name), named=True)
        except InputError as error:
            self._reports(error, name)

    def _whole(self, name: str, source: Source, *, named: bool) -> Iterator[LogStream]:
        """The logs of a file; says so if a file that the user named holds none."""
        before = self._reports.count
        opened = self.opened
        yield from self._unfold(name, source, 0, named=named)
        if named and (opened, before) == (self.opened, self._reports.count):
            raise InputError("holds no log", name, "nothing in it is text", "give the output of the job")

    def _unfold(self, name: str, source: Source, depth: int, *, named: bool) -> Iterator[LogStream]:
        """The logs in ``source``: itself, or what is packed in it."""
        head, source = look(source)
        form = form_of(head)
        if form.kind == "text":
            self.opened += 1
            yield LogStream(name, _text(source, form.what), self._reports)
        elif form.kind == "compressed":
            self._budget.deeper(depth, name)
            from logdoctor.sources.compression import inflated

            yield from self._unfold(name, inflated(source, form.what, name, self._budget), depth + 1, named=named)
        elif form.kind in ("tar", "zip"):
            self._budget.deeper(depth, name)
            yield from self._members(name, self._archive(form.kind, source, name), depth)
        elif named or form.kind != "data":
            raise _no_log(form, name)

    def _archive(self, kind: str, source: Source, name: str) -> Iterator[tuple[str, Source]]:
        if kind == "tar":
            from logdoctor.sources.tars import tar_members

            return tar_members(source, name, self._budget)
        from logdoctor.sources.zips import zip_members

        return zip_members(source, name, self._budget)

    def _members(self, name: str, members: Iterator[tuple[str, Source]], depth: int) -> Iterator[LogStream]:
        for path, source in members:
            self._budget.enter(name)
            if not may_be_log(path):
                continue
            member = f"{name}:{shown(path)}"
            try:
                yield from self._unfold(member, source, depth + 1, named=False)
            except (InputError, OSError) as error:
                self._reports(error, member)


def _text(source: Source, encoding: str) -> Source:
    """The text as it was printed, in UTF-8."""
    if encoding == "utf-8":
        source = without_holes(source)
    else:
        source = WithoutMark(source) if encoding == "utf-8-sig" else Transcoded(source, encoding)
    return unwrapped(without_margins(Undisguised(source)))


def _no_log(form: Form, name: str) -> InputError:
    if form.kind == "unsupported":
        return InputError("cannot be unpacked", name, f"{form.what} is not supported", "unpack it first")
    return InputError("was not read", name, f"it is {form.what}, not text", "give the output of the job")


def _widen(pipe: io.FileIO) -> None:
    """Let a pipe hold 1 MiB, so that its writer and we wait less often for each other (Linux; else nothing)."""
    try:
        import fcntl

        fcntl.fcntl(pipe.fileno(), _F_SETPIPE_SZ, _PIPE_BYTES)
    except (ImportError, OSError):
        return


def shown(path: str) -> str:
    """A path for a person: what cannot be printed (broken bytes, newlines, terminal codes) becomes U+FFFD."""
    return "".join(c if c.isprintable() else "\ufffd" for c in path)

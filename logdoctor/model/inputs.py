"""Jobs and the streams of their logs."""

from __future__ import annotations

from typing import IO, Protocol

from msgspec import Struct

from logdoctor.model.coverage import InputRead
from logdoctor.model.errors import InputError


class Job(Struct, frozen=True):
    """A job to diagnose."""

    name: str
    paths: tuple[str | IO[bytes], ...]
    """Files, folders, globs, archives, ``"-"`` for standard input, or open binary files."""
    found: bool = False
    """The paths were found by a scan. If False, the user named them, so that each of them must be readable."""
    follow_links: bool = False
    """Also read what links in a folder name outside of it."""


class Stream(Protocol):
    """A log as a stream of bytes, decompressed and in UTF-8. A stream is read once, from start to end."""

    name: str
    """The name for the user: a path, ``archive.tar:member`` or ``<stdin>``."""
    document: str
    """The kind of a document that is no log, "" for a log. A document is given as it is."""

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer`` with the next bytes and return their number, 0 at the end.

        Raises `InputError` if the stream cannot be read.
        """
        ...

    def read_so_far(self, size: int, lines: int, records: int, cut_lines: int = 0) -> InputRead:
        """Return what was read of the stream, with the amounts that the reader counted."""
        ...

    def fail(self, error: InputError) -> None:
        """Report that the stream cannot be read on."""
        ...

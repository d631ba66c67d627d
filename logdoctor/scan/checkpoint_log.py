"""Results as they land: one line of JSON a job, appended by whoever finished it, so that a kill loses none of them.

Each process writes a file of its own.  A line that a kill cut short is passed over, as is whatever else is damaged.
When a scan has come to its end all lines become one sorted file (`Journal.close`), the same bytes however many
processes there were and however often they were killed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct

from logdoctor.model import InputError
from logdoctor.scan.file_listing import LOCK, PARTS, WHOLE
from logdoctor.scan.record import JobRecord, from_line

SYNC_SECONDS = 1.0
"""So often what was written is forced to the disk: what a power failure may cost."""


class NotKept(InputError):
    """Results cannot be written: no job can help that, the scan ends.  What landed before stays."""


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Raises `NotKept` where the disk refuses."""
    try:
        yield
    except OSError as error:
        cure = "make room, then scan again: it goes on where this one stood"
        raise NotKept("cannot keep results", str(folder), error.strerror or str(error), cure) from None


class Landing:
    """The file of this process, opened with its first record."""

    def __init__(self, folder: Path) -> None:
        """Land in ``folder``, that of the scan."""
        self._folder = folder / PARTS
        self._file: IO[bytes] | None = None
        self._synced = 0.0

    def add(self, record: JobRecord) -> None:
        """Write ``record`` down.  It survives the death of this process from now on.  Raises `NotKept`."""
        with _writing(self._folder):
            file = self._opened()
            line = record.to_line().encode("utf-8", "replace") + b"\n"
            if file.write(line) < len(line):  # the disk took a part, and would refuse the next
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(file.fileno())
                self._synced = time.monotonic()

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            name = f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.jsonl"
            self._file = (self._folder / name).open("ab", buffering=0)
        return self._file

    def close(self) -> None:
        """Force the rest to the disk."""
        if self._file is not None:
            with self._file as file, contextlib.suppress(OSError):  # what was written can be read all the same
                os.fsync(file.fileno())
            self._file = None


class Place(Struct, frozen=True):
    """Where a record stands."""

    stamp: str
    status: str
    file: Path
    start: int
    length: int


class Journal:
    """All records of a scan, found by the job's name; they stay on the disk."""

    def __init__(self, folder: Path) -> None:
        """Read what an earlier run left in ``folder``."""
        self.folder = folder
        self.places: dict[str, Place] = {}
        self.refresh()

    def refresh(self) -> None:
        """Look again at what has landed; of a job that landed twice the later record counts."""
        self.places.clear()
        for path in _files(self.folder):
            for place, record in _lines(path):
                self.places[record.job] = place

    def has(self, job: str, stamp: str) -> bool:
        """Whether ``job``, unchanged, was diagnosed."""
        place = self.places.get(job)
        return place is not None and place.stamp == stamp and place.status != "died"

    def records(self) -> Iterator[JobRecord]:
        """All records by the jobs' names."""
        for line in self._sorted_lines():
            yield from_line(line)

    def _sorted_lines(self) -> Iterator[bytes]:
        opened: dict[Path, IO[bytes]] = {}
        try:
            for _, place in sorted(self.places.items()):
                if place.file not in opened:
                    opened[place.file] = place.file.open("rb")
                opened[place.file].seek(place.start)
                yield opened[place.file].read(place.length)
        finally:
            for file in opened.values():
                file.close()

    @contextlib.contextmanager
    def locked(self, *, alone: bool) -> Iterator[None]:
        """Keep other scans out of the folder: all, or (not ``alone``) those that want it for themselves.

        Raises `InputError`.  The lock ends with the process, however that ends.
        """
        import fcntl

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / LOCK).open("wb")
        except OSError as error:
            raise InputError("cannot keep results", str(self.folder), error.strerror or str(error)) from None
        with file:
            try:
                fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except OSError:
                why, cure = "another scan is at work there", "wait for it, or give another folder with --out"
                raise InputError("cannot keep results", str(self.folder), why, cure) from None
            yield

    def close(self) -> None:
        """Put all records into one sorted file, in one step; the parts are then not needed any more.

        Raises `NotKept`; the parts then stay, and nothing is lost.
        """
        path, new = self.folder / WHOLE, self.folder / f".{WHOLE}.{os.getpid()}"
        parts = _files(self.folder)[1:]
        try:
            with _writing(self.folder):
                self._write_sorted(new)
                new.replace(path)
        finally:
            new.unlink(missing_ok=True)
        for part in parts:
            part.unlink(missing_ok=True)
        self.refresh()

    def _write_sorted(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(self._sorted_lines())
            file.flush()
            os.fsync(file.fileno())


def last_landed(folder: Path) -> int | None:
    """When a result last came into ``folder`` (nanoseconds since 1970), be its scan at its end or not; None: never."""
    return max((file.stat().st_mtime_ns for file in _files(folder) if file.is_file()), default=None)


def _files(folder: Path) -> list[Path]:
    """The files of all results, the oldest first; the one of a scan that came to its end need not be there."""
    parts = (folder / PARTS).glob("*.jsonl")
    return [folder / WHOLE, *sorted(parts, key=lambda p: (p.stem.rpartition("-")[2].zfill(24), p.name))]


def _lines(path: Path) -> Iterator[tuple[Place, JobRecord]]:
    try:
        file = path.open("rb")
    except OSError:
        return
    with file:
        start = 0
        for line in file:
            try:
                record = from_line(line) if line.endswith(b"\n") else None
            except (ValueError, TypeError, KeyError, AttributeError):
                record = None
            if record is not None:
                yield Place(record.stamp, record.status, path, start, len(line)), record
            start += len(line)

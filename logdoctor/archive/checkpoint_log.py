"""Records of a scan on disk, one line of JSON per job.

Each process appends to a file of its own in ``landing/``, so that a kill loses no record.  Damaged lines are skipped,
also a last line that a kill cut short.  At the end of a scan `CheckpointLog.merge_parts` writes all records into
``jobs.jsonl``, sorted by job.  That file has the same bytes for any number of processes and interruptions.
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

from logdoctor.archive.record import JobRecord, parse_record
from logdoctor.inputs.paths import LOCK_FILE, MERGED_FILE, PARTS_FOLDER
from logdoctor.model import InputError

SYNC_SECONDS = 1.0
"""Time between two ``fsync`` calls: the records that a power failure may cost."""


class ResultsNotWritable(InputError):
    """Records cannot be written, so the scan ends.  Records that were written before stay."""


@contextlib.contextmanager
def _write_errors(folder: Path) -> Iterator[None]:
    """Turn an `OSError` into `ResultsNotWritable`."""
    try:
        yield
    except OSError as error:
        cure = "make room, then scan again: it goes on where this one stood"
        raise ResultsNotWritable("cannot keep results", str(folder), error.strerror or str(error), cure) from None


class CheckpointWriter:
    """Appends records to the part file of this process. The file is created with the first record."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / PARTS_FOLDER
        self._file: IO[bytes] | None = None
        self._last_sync = 0.0

    def add(self, record: JobRecord) -> None:
        """Append ``record``, so that it survives a kill of this process.  Raises `ResultsNotWritable`."""
        with _write_errors(self._folder):
            file = self._open()
            line = record.to_line().encode("utf-8", "replace") + b"\n"
            if file.write(line) < len(line):  # a full disk takes a part of the line without an error
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if time.monotonic() - self._last_sync > SYNC_SECONDS:
                os.fsync(file.fileno())
                self._last_sync = time.monotonic()

    def _open(self) -> IO[bytes]:
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            name = f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.jsonl"
            self._file = (self._folder / name).open("ab", buffering=0)
        return self._file

    def close(self) -> None:
        """Sync the last records to the disk."""
        if self._file is not None:
            with self._file as file, contextlib.suppress(OSError):  # the records are readable without the sync
                os.fsync(file.fileno())
            self._file = None


class RecordLocation(Struct, frozen=True):
    """Position of a record: ``length`` bytes from byte ``start`` of ``file``."""

    stamp: str
    status: str
    file: Path
    start: int
    length: int


class CheckpointLog:
    """All records in the folder of a scan.  Only their locations are kept in memory, by job name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.locations: dict[str, RecordLocation] = {}
        self.reload()

    def reload(self) -> None:
        """Read all files again.  If a job has two records, the later one counts."""
        self.locations.clear()
        for path in _record_files(self.folder):
            for location, record in _read_records(path):
                self.locations[record.job] = location

    def is_done(self, job: str, stamp: str) -> bool:
        """Return whether ``job`` has a record with this ``stamp``. A record with the status ``died`` does not count."""
        location = self.locations.get(job)
        return location is not None and location.stamp == stamp and location.status != "died"

    def records(self) -> Iterator[JobRecord]:
        """Yield all records, sorted by job name."""
        for line in self._sorted_lines():
            yield parse_record(line)

    def _sorted_lines(self) -> Iterator[bytes]:
        files: dict[Path, IO[bytes]] = {}
        try:
            for _, location in sorted(self.locations.items()):
                if location.file not in files:
                    files[location.file] = location.file.open("rb")
                files[location.file].seek(location.start)
                yield files[location.file].read(location.length)
        finally:
            for file in files.values():
                file.close()

    @contextlib.contextmanager
    def lock(self, *, exclusive: bool) -> Iterator[None]:
        """Lock the folder against other scans.

        Scans of shards share a lock that is not ``exclusive``.  Raises `InputError` if the folder is locked.  The lock
        ends with the process, also if the process is killed.
        """
        import fcntl

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / LOCK_FILE).open("wb")
        except OSError as error:
            raise InputError("cannot keep results", str(self.folder), error.strerror or str(error)) from None
        with file:
            try:
                fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except OSError:
                why, cure = "another scan is at work there", "wait for it, or give another folder with --out"
                raise InputError("cannot keep results", str(self.folder), why, cure) from None
            yield

    def merge_parts(self) -> None:
        """Merge all records into one sorted file.

        The file is replaced atomically, then the part files are deleted.  If the disk is full, the part files stay, and
        `ResultsNotWritable` is raised.
        """
        path, temporary = self.folder / MERGED_FILE, self.folder / f".{MERGED_FILE}.{os.getpid()}"
        parts = _record_files(self.folder)[1:]
        try:
            with _write_errors(self.folder):
                self._write_sorted(temporary)
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        for part in parts:
            part.unlink(missing_ok=True)
        self.reload()

    def _write_sorted(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(self._sorted_lines())
            file.flush()
            os.fsync(file.fileno())


def last_write_time(folder: Path) -> int | None:
    """Return the time of the last record in ``folder``.

    The time is in nanoseconds since 1970, or None if there are no records.  The scan may still run.
    """
    return max((file.stat().st_mtime_ns for file in _record_files(folder) if file.is_file()), default=None)


def _record_files(folder: Path) -> list[Path]:
    """Return the merged file and the part files, the oldest first. The merged file may not exist."""
    parts = (folder / PARTS_FOLDER).glob("*.jsonl")
    return [folder / MERGED_FILE, *sorted(parts, key=lambda p: (p.stem.rpartition("-")[2].zfill(24), p.name))]


def _read_records(path: Path) -> Iterator[tuple[RecordLocation, JobRecord]]:
    try:
        file = path.open("rb")
    except OSError:
        return
    with file:
        start = 0
        for line in file:
            try:
                record = parse_record(line) if line.endswith(b"\n") else None
            except (ValueError, TypeError, KeyError, AttributeError):
                record = None
            if record is not None:
                yield RecordLocation(record.stamp, record.status, path, start, len(line)), record
            start += len(line)

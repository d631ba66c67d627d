"""Cache files that only save time: compiled databases, rules, expressions.

They may be lost, cut, foreign or unwritable at any time, and no such failure reaches the caller.
A file is only read if no other user could have written it.
File names hold a key of their inputs, so a file is never out of date.
When a file is written, the files of the same suffix that were unused for longest are deleted.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple, TypeVar

from logdoctor.model.digests import blake2b

MAX_FILES = 12
"""Number of files with one suffix that are kept."""
MAX_BYTES = 256 << 20
SOURCES = (".yaml", ".tsv", ".py")
LOCK_SECONDS = 30.0
"""Longest wait for another process that makes the same file."""
SETTLE_NS = 2 * 10**9
"""Age in nanoseconds after which a further change of a file is sure to change its time."""


def folder() -> Path | None:
    """Return the cache folder, None if caching is off.

    It is ``$LOGDOCTOR_CACHE``, ``$XDG_CACHE_HOME/logdoctor`` or ``~/.cache/logdoctor``.
    An empty ``$LOGDOCTOR_CACHE`` turns caching off.
    """
    cache_setting = os.environ.get("LOGDOCTOR_CACHE")
    if cache_setting is not None:
        return Path(cache_setting) if cache_setting else None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - never raises
    return Path(home) / "logdoctor" if home.startswith("/") else None


def open_trusted(path: Path) -> FileIO | None:
    """Open a stored file that only the user or root could write.

    Return None for any other, missing or oversized file.
    """
    try:
        file = path.open("rb", buffering=0)
    except OSError:
        return None
    status = os.fstat(file.fileno())
    foreign = hasattr(os, "getuid") and status.st_uid not in {0, os.getuid()}
    if foreign or not stat.S_ISREG(status.st_mode) or status.st_mode & 0o022 or status.st_size > MAX_BYTES:
        file.close()
        return None
    with suppress(OSError):  # a read-only cache
        os.utime(path)
    return file


def read(path: Path) -> bytes | None:
    """Return the stored bytes, None if `open_trusted` returns None."""
    with suppress(OSError), open_trusted(path) or nullcontext() as file:
        return file.readall() if file else None
    return None


def write(path: Path, data: bytes) -> None:
    """Store ``data`` in one atomic step, readable for the owner only."""
    import tempfile

    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(name, path)  # noqa: PTH105  the name is a string already
        except OSError:
            os.unlink(name)  # noqa: PTH108
        _drop_unused(path)


Kept = TypeVar("Kept")

_held: set[Path] = set()
"""Folders that this process has locked."""


def keep(path: Path | None, decode: Callable[[bytes], Kept], make: Callable[[], tuple[Kept, bytes]]) -> Kept:
    """Return the stored value. If there is none, make it and store its bytes.

    ``decode`` raises any exception for damaged bytes. Of several processes one makes the value and the others wait.
    Without a ``path`` nothing is stored.
    """
    if path is None:
        return make()[0]
    value = _decode(path, decode)
    if value is None:
        with _locked(path.parent):
            value = _decode(path, decode)
            if value is None:
                value, data = make()
                write(path, data)
    return value


def _decode(path: Path, decode: Callable[[bytes], Kept]) -> Kept | None:
    stored = read(path)
    with suppress(Exception):  # cut, foreign or damaged
        return None if stored is None else decode(stored)
    return None


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the lock of a folder, or go on without it after `LOCK_SECONDS`.

    A process that holds it already, because one value needs another, goes on at once.
    """
    if directory in _held:
        yield
        return
    try:
        import fcntl

        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY)
    except (ImportError, OSError):  # Windows, or no such folder can be made
        yield
        return
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        while time.monotonic() < deadline:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:  # a file system without locks
                break
        _held.add(directory)
        yield
    finally:
        _held.discard(directory)
        os.close(descriptor)


def _drop_unused(newest: Path) -> None:
    others = [(p.stat().st_mtime_ns, p) for p in newest.parent.glob(f"*{newest.suffix}") if p != newest]
    for _, path in sorted(others, reverse=True)[MAX_FILES - 1 :]:
        path.unlink()


class Stamp(NamedTuple):
    """The state of source files. ``digest`` covers sizes and times. ``newest`` is the newest time in nanoseconds."""

    digest: str
    newest: int

    @property
    def settled(self) -> bool:
        """Report whether any later change will change the stamp."""
        return self.newest < time.time_ns() - SETTLE_NS


def stamp(directory: str | os.PathLike[str]) -> Stamp:
    """Return the stamp of all sources below a folder.

    Files are not read, because that would take a tenth of the time of a diagnosis.
    """
    digest, newest = blake2b(os.fsencode(directory), digest_size=16), 0
    for path, status in sorted(_sources(os.fspath(directory))):
        identity = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        digest.update(b"\0" + os.fsencode(path) + repr(identity).encode())
        newest = max(newest, status.st_mtime_ns, status.st_ctime_ns)
    return Stamp(digest.hexdigest(), newest)


def _sources(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _sources(entry.path)
            elif entry.name.endswith(SOURCES):
                yield entry.path, entry.stat()

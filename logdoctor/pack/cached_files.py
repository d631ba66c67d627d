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
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from logdoctor.model.digests import blake2b

MAX_FILES = 12
"""Number of files with one suffix that are kept."""
MAX_BYTES = 256 << 20
SOURCES = (".yaml", ".tsv", ".py")
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


def _drop_unused(newest: Path) -> None:
    others = [(p.stat().st_mtime_ns, p) for p in newest.parent.glob(f"*{newest.suffix}") if p != newest]
    for _, path in sorted(others, reverse=True)[MAX_FILES - 1 :]:
        path.unlink()


def is_kept_in(directory: Path | None) -> bool:
    """Report whether files in ``directory`` can be stored. The folder is made if missing."""
    if directory is None:
        return False
    with suppress(OSError):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory.is_dir() and os.access(directory, os.W_OK)


class Stamp(NamedTuple):
    """The state of source files.

    ``digest`` covers sizes and times. ``newest`` is the newest time in nanoseconds.
    """

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

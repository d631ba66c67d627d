"""Files that only save time: compiled databases, rules and regular expressions.

They may be lost, cut, foreign or unwritable at any time: no failure here reaches the caller.  A file is only read if
it is ours alone.  Their names hold a key of what they were made from, so none is ever out of date; those of each
sort that were not used for longest go when a new one is written.
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

from logdoctor.digests import blake2b

KEPT = 12
"""So many files of one sort stay."""
MOST_BYTES = 256 << 20
SOURCES = (".yaml", ".tsv", ".py")
SETTLED = 2 * 10**9
"""Nanoseconds after which a file that is changed again is sure to bear another time."""


def folder() -> Path | None:
    """Where they are: ``$LOGDOCTOR_CACHE``, ``$XDG_CACHE_HOME/logdoctor`` or ``~/.cache/logdoctor``.

    An empty ``$LOGDOCTOR_CACHE`` means: nowhere.
    """
    chosen = os.environ.get("LOGDOCTOR_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - never raises
    return Path(home) / "logdoctor" if home.startswith("/") else None


def opened(path: Path) -> FileIO | None:
    """The stored file; None if there is none, it cannot be read, or others could have written it."""
    try:
        file = path.open("rb", buffering=0)
    except OSError:
        return None
    status = os.fstat(file.fileno())
    foreign = hasattr(os, "getuid") and status.st_uid not in {0, os.getuid()}
    if foreign or not stat.S_ISREG(status.st_mode) or status.st_mode & 0o022 or status.st_size > MOST_BYTES:
        file.close()
        return None
    with suppress(OSError):  # a place that may only be read
        os.utime(path)
    return file


def read(path: Path) -> bytes | None:
    """The stored bytes; None where `opened` is."""
    with suppress(OSError), opened(path) or nullcontext() as file:
        return file.readall() if file else None
    return None


def write(path: Path, data: bytes) -> None:
    """Store ``data`` in one step (readers see the whole or nothing), for the owner only."""
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
    for _, path in sorted(others, reverse=True)[KEPT - 1 :]:
        path.unlink()


def is_kept_in(place: Path | None) -> bool:
    """Whether what is written to ``place`` (made if missing) will be there the next time."""
    if place is None:
        return False
    with suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place.is_dir() and os.access(place, os.W_OK)


class Stamp(NamedTuple):
    """What tells whether sources are still the same: a digest of their sizes and times, and the newest of these."""

    digest: str
    newest: int

    @property
    def settled(self) -> bool:
        """Whether it is sure to be another one when any of them changes."""
        return self.newest < time.time_ns() - SETTLED


def stamp(place: str | os.PathLike[str]) -> Stamp:
    """The stamp of all sources below a folder: reading them would take a tenth of the time of a diagnosis."""
    digest, newest = blake2b(os.fsencode(place), digest_size=16), 0
    for path, status in sorted(_sources(os.fspath(place))):
        told = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        digest.update(b"\0" + os.fsencode(path) + repr(told).encode())
        newest = max(newest, status.st_mtime_ns, status.st_ctime_ns)
    return Stamp(digest.hexdigest(), newest)


def _sources(place: str) -> Iterator[tuple[str, os.stat_result]]:
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _sources(entry.path)
            elif entry.name.endswith(SOURCES):
                yield entry.path, entry.stat()

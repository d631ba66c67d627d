"""Files that only save time: compiled databases, rules and regular expressions.

They may be lost, cut, foreign or unwritable at any time: no failure here reaches the caller.  A file is only read if
it is ours alone.  Their names hold a key of what they were made from, so none is ever out of date; those of each
sort that were not used for longest go when a new one is written.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

KEPT = 12
"""So many files of one sort stay."""
MOST_BYTES = 256 << 20


def folder() -> Path | None:
    """Where they are: ``$LOGDOCTOR_CACHE``, ``$XDG_CACHE_HOME/logdoctor`` or ``~/.cache/logdoctor``.

    An empty ``$LOGDOCTOR_CACHE`` means: nowhere.
    """
    chosen = os.environ.get("LOGDOCTOR_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - never raises
    return Path(home) / "logdoctor" if home.startswith("/") else None


def read(path: Path) -> bytes | None:
    """The stored bytes; None if there are none, they cannot be read, or others could have written them."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            foreign = hasattr(os, "getuid") and status.st_uid not in {0, os.getuid()}
            if foreign or not stat.S_ISREG(status.st_mode) or status.st_mode & 0o022 or status.st_size > MOST_BYTES:
                return None
            with suppress(OSError):  # a place that may only be read
                os.utime(path)
            return file.read()
    except OSError:
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

"""Compiled databases on disk.  A cache may be lost at any time: no failure here reaches the caller.

A database is machine code's cousin, so a file is only read if it is ours alone; what is inside is checked by Hyperscan
itself (its version, platform and checksum).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

_FORMAT = b"logdoctor.hsdb/1"
_KEEP = 12
"""How many databases stay; the oldest go when a new one is written."""
_MOST_BYTES = 256 << 20


def file_name(patterns: Sequence[bytes], version: str) -> str:
    """A name that changes with the patterns, the engine's version and the platform."""
    digest = blake2b(_FORMAT, digest_size=16)
    machine = os.uname().machine if hasattr(os, "uname") else ""
    for part in (version.encode(), sys.platform.encode(), machine.encode(), *patterns):
        digest.update(len(part).to_bytes(4, "little") + part)
    return f"{digest.hexdigest()}.hsdb"


def read(path: Path) -> bytes | None:
    """The stored bytes; None if there are none, they cannot be read, or others could have written them."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            foreign = hasattr(os, "getuid") and status.st_uid not in {0, os.getuid()}
            if foreign or not stat.S_ISREG(status.st_mode) or status.st_mode & 0o022 or status.st_size > _MOST_BYTES:
                return None
            return file.read()
    except OSError:
        return None


def write(path: Path, database: bytes) -> None:
    """Store ``database`` in one step (readers see the whole or nothing), for the owner only."""
    import tempfile

    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(database)
            os.replace(name, path)  # noqa: PTH105  the name is a string already
        except OSError:
            os.unlink(name)  # noqa: PTH108
        _drop_oldest(path)


def _drop_oldest(newest: Path) -> None:
    others = [(p.stat().st_mtime_ns, p) for p in newest.parent.glob("*.hsdb") if p != newest]
    for _, path in sorted(others, reverse=True)[_KEEP - 1 :]:
        path.unlink()


def is_kept_in(folder: Path | None) -> bool:
    """Whether what is written to ``folder`` (made if missing) will be there the next time."""
    if folder is None:
        return False
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder.is_dir() and os.access(folder, os.W_OK)

"""Files of rules, settings and models: small regular files, read whole.

They come from other people too, so a pipe, a device or an endless file must not stop a diagnosis.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from logdoctor.model.errors import RuleError

MAX_BYTES = 1 << 20


class NotUtf8(OSError):
    """A byte in ``line`` is no UTF-8."""

    def __init__(self, path: Path, line: int) -> None:
        super().__init__(errno.EILSEQ, "it is no text in UTF-8", str(path))
        self.line = line


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file of at most ``limit`` bytes. Raise `OSError` for any other file."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags | getattr(os, "O_CLOEXEC", 0)), "rb", buffering=0) as file:  # noqa: PTH123
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is a pipe, a device or a folder, not a file", str(path))
        parts, rest = list[bytes](), limit + 1  # the file may grow while it is read
        while rest and (part := file.read(rest)):
            parts.append(part)
            rest -= len(part)
    if not rest:
        raise OSError(errno.EFBIG, f"it is larger than {limit >> 10} KiB", str(path))
    return b"".join(parts)


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """Return the text of a file in UTF-8. Raise `OSError`, also for a byte that is no UTF-8."""
    raw = read_bytes(path, limit)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotUtf8(path, raw.count(b"\n", 0, error.start) + 1) from None


def read_source(path: Path, fault: str) -> str:
    """Return the text of a file of rules or formats. Raise `RuleError` with the message ``fault``."""
    try:
        return read_text(path)
    except OSError as error:
        where = f"{path}:{error.line}" if isinstance(error, NotUtf8) else str(path)
        why = error.strerror or str(error)
        raise RuleError(fault, where, why, "see where it leads, its size and its permissions") from None

"""Linux error numbers for the error texts of the C library."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from logdoctor.codes import catalogue


@cache
def errno_texts() -> Mapping[str, int]:
    """Return the texts of strerror and UCX with their Linux error numbers."""
    return {text: int(entry.code) for text, entry in catalogue("errno").words()}


FAILURE_TEXTS = (
    "Operation not permitted",
    "No such file or directory",
    "No such process",
    "Interrupted system call",
    "Input/output error",
    "Argument list too long",
    "Exec format error",
    "Resource temporarily unavailable",
    "Cannot allocate memory",
    "Permission denied",
    "Bad address",
    "Device or resource busy",
    "File exists",
    "No such device",
    "Not a directory",
    "Is a directory",
    "Too many open files in system",
    "Too many open files",
    "Text file busy",
    "File too large",
    "No space left on device",
    "Read-only file system",
    "Broken pipe",
    "File name too long",
    "Value too large for defined data type",
    "Address already in use",
    "Cannot assign requested address",
    "Network is down",
    "Network is unreachable",
    "Software caused connection abort",
    "Connection reset by peer",
    "No buffer space available",
    "Transport endpoint is not connected",
    "Communication error on send",
    "Connection timed out",
    "Connection refused",
    "Host is down",
    "No route to host",
    "Stale file handle",
    "Stale NFS file handle",
    "Remote I/O error",
    "Disk quota exceeded",
    "Key has expired",
    "Cannot send after transport endpoint shutdown",
)
"""Texts that report a failure in any context, for use in patterns. `errno_texts` has their numbers."""


def find_errno(text: str) -> int | None:
    """Return the only error number that ``text`` names, else None."""
    matches = [words for words in errno_texts() if words in text]
    numbers = {errno_texts()[words] for words in matches if not any(words != w and words in w for w in matches)}
    return numbers.pop() if len(numbers) == 1 else None

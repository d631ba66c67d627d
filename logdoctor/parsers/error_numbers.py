"""Error texts of the C library -> Linux error numbers, from the catalogue of errno."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from logdoctor.catalogues import catalogue


@cache
def errno_texts() -> Mapping[str, int]:
    """The texts of strerror on Linux, and UCX's own for the same, with their numbers; read when first asked for."""
    return {text: int(entry.code) for text, entry in catalogue("errno").words()}


TELLING = (
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
"""The texts that are a failure wherever they stand, for patterns that search for them; `errno_texts` numbers them."""


def errno_of(text: str) -> int | None:
    """The error number whose wording stands in ``text``; None where there is none or more than one."""
    found = [words for words in errno_texts() if words in text]
    whole = {errno_texts()[words] for words in found if not any(words != w and words in w for w in found)}
    return whole.pop() if len(whole) == 1 else None

"""Errors that a restart does not change, found in the lines that prove a cause."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from logdoctor.codes import catalogue

CATALOGUES = ("errno", "cuda")
LASTING_CODES = frozenset(
    "EPERM ENOENT ENOEXEC EACCES ENOTDIR EISDIR EINVAL EFBIG ENOSPC EROFS EDEADLK ENAMETOOLONG ENOSYS ENOPROTOOPT"
    " EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRNOTAVAIL EDQUOT"
    " cudaErrorInvalidConfiguration cudaErrorLaunchOutOfResources cudaErrorLaunchTimeout".split()
)
"""Names of codes: rights, paths, limits, and what a library or device cannot do."""
UNREACHED_CODES = frozenset({"ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH"})
"""Names of codes that also pass, if the other side was there before."""
LASTING_TEXTS = (
    "401 client error",
    "403 client error",
    "404 client error",
    "http error 401",
    "http error 403",
    "http error 404",
    "cannot be opened",
    "can't decode",
    "cannot decode",
    "could not decode",
    "deadlock detected",
    "does not exist",
    "has been disabled",
    "is invalid",
    "is not supported",
    "not implemented",
    "offline mode",
    "unsupported",
)
"""Texts of errors without a code, in lower case."""
UNREACHED_TEXTS = (
    "couldn't connect to",
    "couldn't reach",
    "name or service not known",
    "no route to",
    "refused",
    "temporary failure in name resolution",
)
"""Texts without a code that also pass, if the other side was there before."""


def find_lasting_error(lines: Iterable[str], *, worked: bool) -> str:
    """Return the words of the first line that say why a restart fails again, or "".

    ``worked``: the job did a step, so a server that is not reached was there before.
    """
    for line in lines:
        lowered = line.lower()
        for words in _lasting_words(worked):
            start = lowered.find(words)
            if start >= 0:
                return line[start : start + len(words)]
    return ""


@cache
def _lasting_words(worked: bool) -> tuple[str, ...]:  # noqa: FBT001
    """Return the texts to look for: those that programs print for the codes, then those without a code."""
    codes = LASTING_CODES if worked else LASTING_CODES | UNREACHED_CODES
    entries = [entry for name in CATALOGUES for entry in catalogue(name).entries if entry.name in codes]
    printed = (text.lower() for entry in entries for text in catalogue(entry.head.name).texts(entry))
    return (*printed, *LASTING_TEXTS, *(() if worked else UNREACHED_TEXTS))

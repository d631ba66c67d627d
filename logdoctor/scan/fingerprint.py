"""What stays the same when the same failure comes again: in another job, on other hosts, at another time."""

from __future__ import annotations

import hashlib

from logdoctor.model import Diagnosis
from logdoctor.regexes import later

_CHANGING = later(
    r"(?P<time>\d{2,4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?|\d\d:\d\d:\d\d(?:[.,]\d+)?)"
    r"|(?P<address>\d{1,3}(?:\.\d{1,3}){3}(?::\d+|<\d+>)?|\b[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){3,7}\b)"
    r"|(?P<path>(?:/[\w.+@=-]+){2,}/?)"
    r"|(?P<host>\b[A-Za-z][A-Za-z]*[A-Za-z0-9]*(?:[-.][A-Za-z0-9]+)*\d(?=:\d{2,7}\b))"
    r"|(?P<hex>\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b)"
    r"|(?P<n>\d+(?:[.,]\d+)*)"
)
_SPACES = later(r"\s+")
LONGEST = 300


def template(text: str) -> str:
    """The text without what changes from run to run: times, addresses, paths, numbers."""
    masked: str = _CHANGING.sub(lambda hit: f"<{hit.lastgroup}>", text[: 4 * LONGEST])
    return str(_SPACES.sub(" ", masked)).strip()[:LONGEST]


def fingerprint(found: Diagnosis) -> str:
    """Equal for jobs that failed in the same way; empty for a healthy one.

    Two jobs fail in the same way where the signature and the form of the decisive line are the same; where no cause is
    known, the forms of the unexplained lines.
    """
    if found.causes:
        cause = found.causes[0]
        told = [cause.signature, *(template(e.line.text) for e in cause.evidence[:1])]
    else:
        told = sorted({template(e.line.text) for e in found.unexplained})
    if not told:
        return ""
    return hashlib.blake2b("\n".join(told).encode("utf-8", "replace"), digest_size=6).hexdigest()

"""Units of sizes and times, and the words beside a value that tell its part."""

from __future__ import annotations

import regex

SIZE_UNIT = r"[KMGTPkmgt]i?[Bb]?(?![A-Za-z])|[Bb]ytes?\b|B(?![A-Za-z])"
TIME_UNIT = (
    r"(?:ms|msecs?|milliseconds?|millis|us|usecs?|microseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?)"
    r"(?![A-Za-z])"
)
AMOUNT = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?|\d{1,15}(?:\.\d{1,9})?"
_SECONDS = {"u": 1e-6, "ms": 1e-3, "milli": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400}
_POWERS = "kmgtp"
_WINDOW = 56
"""Characters before or after a value in which a word tells its part."""
_NEW_CLAUSE = (". ", "; ", "! ")


def to_bytes(amount: str, unit: str) -> int:
    """Return a number of bytes. Programs that print MB mostly mean MiB, so all units are powers of 1024."""
    power = _POWERS.find(unit[:1].lower()) + 1
    return round(float(amount.replace(",", "")) * (1 << 10 * power))


def to_seconds(amount: str, unit: str) -> float:
    """Return a number of seconds, an int if it is whole."""
    scale = next(scale for start, scale in _SECONDS.items() if unit.lower().startswith(start))
    seconds = round(float(amount.replace(",", "")) * scale, 6)
    return int(seconds) if seconds == int(seconds) else seconds


def role_beside(
    text: str,
    value: tuple[int, int],
    room: tuple[int, int],
    before: regex.Pattern[str],
    after: regex.Pattern[str],
) -> str:
    """Return the part of the value that spans ``value``, else "".

    A word right after the value tells it, else the nearest word before it. The name of the group that matched is the
    part. ``room`` spans the text that belongs to the value: from the value before it to the value after it.
    """
    start, end = value
    found = after.match(text, end, min(room[1], end + _WINDOW))
    if found:
        return found.lastgroup or ""
    first = max(room[0], start - _WINDOW, *(text.rfind(sign, 0, start) + 1 for sign in _NEW_CLAUSE))
    role = ""
    for found in before.finditer(text, first, start):
        role = found.lastgroup or ""
    return role

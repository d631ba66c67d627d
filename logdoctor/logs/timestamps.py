"""Patterns for time stamps and level words, shared by the prefixes."""

from __future__ import annotations

from logdoctor.model import Level

_LEVELS: dict[str, Level] = {"f": "fatal", "c": "fatal", "p": "fatal", "e": "error", "s": "error", "w": "warning"}
_FATAL = ("emerg", "alert")
_INFO = ("success", "status")


def level_of(word: str) -> Level:
    """Return the level for ``E``, ``WARN`` or syslog's ``alert``; else info."""
    low = word.lower()
    if low.startswith(_FATAL):
        return "fatal"
    return "info" if low.startswith(_INFO) else _LEVELS.get(low[:1], "info")

"""Prefixes of a collector that no prefix pattern covers. All lines of a record carry the same prefix."""

from __future__ import annotations

from logdoctor.logs.record_pattern import Message
from logdoctor.pack.regexes import later

_DIGIT = later(r"\d")


def has_prefix(line: Message, prefix: str) -> bool:
    """Return True if the line begins with ``prefix``. Digits of its time or number may differ."""
    start = line.text[: len(prefix)]
    return start == prefix or _DIGIT.sub("0", start) == _DIGIT.sub("0", prefix)


def remove_prefix(line: Message, prefix: str) -> Message:
    return Message(line.text[len(prefix) :], line.source, line.below)

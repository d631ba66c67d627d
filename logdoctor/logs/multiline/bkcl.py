"""Levels of BKCL's and XCCL's lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Level, Value
from logdoctor.pack.regexes import later

_LEVELS: Mapping[str, Level] = {"ERR": "error", "ERROR": "error", "FATAL": "fatal", "WARN": "warning"}
_FAILED = later(r"\bfail(?:ed|ure)?\b|\bnot properly\b|\btimed? ?out\b|dont support|\berror\b")


def severity(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Set the level from the words of the message.

    BKCL prints WARN for errors that end the program. XCCL prints no level.
    """
    text, severity = str(fields.get("text", head.text)), str(fields.get("severity", ""))
    level = _LEVELS.get(severity, "info")
    if severity in {"", "WARN"} and _FAILED.search(text):
        level = "error"
    return Multiline(text, level=level)

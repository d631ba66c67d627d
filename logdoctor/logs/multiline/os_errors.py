"""Errno and level of an error of the operating system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.error_numbers import errno_texts
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.pack.regexes import later


def with_errno(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Add the number of an errno text as the field ``errno``.

    A line that its source calls a warning or info keeps that level.
    """
    number = errno_texts().get(str(fields.get("reason", "")))
    level = head.source.level if head.source.level in ("warning", "info") else None
    return Multiline(head.text, {} if number is None else {"errno": number}, level=level)


_WARNS = later(r"(?:^|[:\]] )(?:[Ww]arning|WARNING): ")


def keep_level(head: Message, _fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Keep the level of a line that is a warning or less."""
    level = head.source.level if head.source.level in ("warning", "info") else None
    return Multiline(head.text, level=level or ("warning" if _WARNS.search(head.text[:200]) else None))

"""Peers and errno of Gloo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.logs.error_numbers import errno_texts
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value


def with_errno(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Add errno, and write the peer as ``ip:port`` without brackets."""
    more: dict[str, Value] = {}
    error = str(fields.get("error", "")).strip()
    if error in errno_texts():
        more["errno"] = errno_texts()[error]
    if peer := str(fields.get("peer", "")):
        more["peer"] = regex.sub(r"^\[(?:::ffff:)?([\w.-]+)\]", r"\1", peer)
    return Multiline(str(fields.get("text", head.text)), more)

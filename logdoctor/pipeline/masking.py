"""Masking of the values in a message: numbers, addresses, paths, names.

Masked messages are templates of lines and drafts of rules.
For example ``rank 3 lost 10.0.0.7`` becomes ``rank <n> lost <address>``.

The template miner drain3 was considered. Its releases pin old versions of their requirements, and its groups depend
on the order of the lines. Masking gives a line the same template in every archive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

MAX_CHARS = 2000
"""Characters of a message that are masked."""


class ValueKind(NamedTuple):
    """A kind of value.

    ``pattern`` finds the value. ``template`` replaces it. ``expression`` matches it in the text of a rule.
    """

    name: str
    pattern: str
    template: str
    expression: str


VALUE_KINDS = (
    ValueKind("url", r"\b[a-z]{2,8}://[^\s'\"<>]+", "<url>", r"\S{1,200}"),
    ValueKind("address", r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+|<\d+>)?", "<address>", r"[\d.]{7,15}(?:[:<]\d+>?)?"),
    ValueKind(
        "address", r"\[?\b(?:[0-9a-fA-F]{1,4}:){4,7}:?[0-9a-fA-F]{1,4}\b\]?", "<address>", r"[\da-fA-F:\[\]]{8,45}"
    ),
    ValueKind("bus_id", r"\b(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d\b", "<bus>", r"[\da-fA-F:.]{7,16}"),
    ValueKind("time", r"\b\d{4}[-/.]\d\d[-/.]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?", "<time>", r"[\dT:.,_ /-]{10,32}"),
    ValueKind("time", r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b", "<time>", r"[\d:.,]{7,20}"),
    ValueKind("pointer", r"\b0x[0-9a-fA-F]+\b", "<hex>", "0x[0-9a-fA-F]{1,16}"),
    ValueKind("id", r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<id>", r"[\da-f-]{36}"),
    ValueKind("id", r"\b(?=[a-f]*\d)[0-9a-f]{8,}\b|\b\d+[a-f][0-9a-f]{3,}\b", "<id>", r"[\da-f]{4,64}"),
    ValueKind("path", r"(?<![\w<])(?:~|\.{1,2})?/(?:[\w.+@=~-]+/)*[\w.+@=~-]*[\w+@=~-]", "<path>", r"[^\s'\"]{1,200}"),
    ValueKind("name", r"\b[A-Za-z][A-Za-z_-]*\d[\w-]*(?:\.[\w-]+)*", "<name>", r"[\w.-]{1,120}"),
    ValueKind("number", r"(?<![\w.])[-+]?\d+(?:\.\d+)*(?:e[-+]?\d+)?(?![\d.]\d)", "<n>", r"-?\d[\d.e+-]{0,24}"),
)
"""The first kind that matches at a position is used."""

_CONSTANTS = regex.compile(r"(?i)bf16|fp16|fp32|fp8|int8|utf-?8|x86_64|libc10\w*|c10d?|mlx5|ipv[46]|h100|a100")
_ANY = regex.compile("|".join(f"(?P<k{i}>{kind.pattern})" for i, kind in enumerate(VALUE_KINDS)))
_QUOTED = regex.compile(r"(?<![\w])(['\"])(?:(?!\1)[^\n]){1,60}\1")
_LIST = regex.compile(r"(<\w+>)(?:[,;] ?\1)+")


class Piece(NamedTuple):
    """A part of a message: constant words (``kind`` None), or a value."""

    text: str
    kind: ValueKind | None


def split_values(text: str) -> Iterator[Piece]:
    """Split a message into words and values."""
    position = 0
    for match in _ANY.finditer(text[:MAX_CHARS]):
        if _CONSTANTS.fullmatch(match.group()):
            continue
        if match.start() > position:
            yield Piece(text[position : match.start()], None)
        yield Piece(match.group(), VALUE_KINDS[int(str(match.lastgroup)[1:])])
        position = match.end()
    if position < len(text[:MAX_CHARS]):
        yield Piece(text[position:MAX_CHARS], None)


def to_template(text: str) -> str:
    """Mask all values in the first line of a message.

    All lines of one print statement give the same template.
    """
    line = next((line for line in text.splitlines() if line.strip()), "")
    masked = "".join(p.kind.template if p.kind else p.text for p in split_values(line.strip()))
    masked = _LIST.sub(r"\1, ...", _QUOTED.sub("'*'", masked))
    return " ".join(masked.split())

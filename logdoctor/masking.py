"""What in a message is only this job's: numbers, addresses, paths, names.  For templates of lines and drafts of rules.

Template miners (drain3) were weighed: its releases pin old versions of their requirements, and its groups depend on the
order of the lines.  Masking gives the same template for a line in whichever archive it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

LONGEST = 2000
"""Characters of a message that are looked at."""


class Kind(NamedTuple):
    """A kind of value: how it is found, how it stands in a template, and which expression of a rule finds it again."""

    name: str
    found: str
    template: str
    expression: str


KINDS = (
    Kind("url", r"\b[a-z]{2,8}://[^\s'\"<>]+", "<url>", r"\S{1,200}"),
    Kind("address", r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+|<\d+>)?", "<address>", r"[\d.]{7,15}(?:[:<]\d+>?)?"),
    Kind("address", r"\[?\b(?:[0-9a-fA-F]{1,4}:){4,7}:?[0-9a-fA-F]{1,4}\b\]?", "<address>", r"[\da-fA-F:\[\]]{8,45}"),
    Kind("bus_id", r"\b(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d\b", "<bus>", r"[\da-fA-F:.]{7,16}"),
    Kind("time", r"\b\d{4}[-/.]\d\d[-/.]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?", "<time>", r"[\dT:.,_ /-]{10,32}"),
    Kind("time", r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b", "<time>", r"[\d:.,]{7,20}"),
    Kind("pointer", r"\b0x[0-9a-fA-F]+\b", "<hex>", "0x[0-9a-fA-F]{1,16}"),
    Kind("id", r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<id>", r"[\da-f-]{36}"),
    Kind("id", r"\b(?=[a-f]*\d)[0-9a-f]{8,}\b|\b\d+[a-f][0-9a-f]{3,}\b", "<id>", r"[\da-f]{4,64}"),
    Kind("path", r"(?<![\w<])(?:~|\.{1,2})?/(?:[\w.+@=~-]+/)*[\w.+@=~-]*[\w+@=~-]", "<path>", r"[^\s'\"]{1,200}"),
    Kind("name", r"\b[A-Za-z][A-Za-z_-]*\d[\w-]*(?:\.[\w-]+)*", "<name>", r"[\w.-]{1,120}"),
    Kind("number", r"(?<![\w.])[-+]?\d+(?:\.\d+)*(?:e[-+]?\d+)?(?![\d.]\d)", "<n>", r"-?\d[\d.e+-]{0,24}"),
)
"""The first kind that fits at a place counts."""

_KEPT = regex.compile(r"(?i)bf16|fp16|fp32|fp8|int8|utf-?8|x86_64|libc10\w*|c10d?|mlx5|ipv[46]|h100|a100")
_ANY = regex.compile("|".join(f"(?P<k{i}>{kind.found})" for i, kind in enumerate(KINDS)))
_QUOTED = regex.compile(r"(?<![\w])(['\"])(?:(?!\1)[^\n]){1,60}\1")
_LIST = regex.compile(r"(<\w+>)(?:[,;] ?\1)+")


class Piece(NamedTuple):
    """A stretch of a message: words that stay the same (``kind`` None), or a value."""

    text: str
    kind: Kind | None


def pieces(text: str) -> Iterator[Piece]:
    """The message cut into words and values."""
    at = 0
    for found in _ANY.finditer(text[:LONGEST]):
        if _KEPT.fullmatch(found.group()):
            continue
        if found.start() > at:
            yield Piece(text[at : found.start()], None)
        yield Piece(found.group(), KINDS[int(str(found.lastgroup)[1:])])
        at = found.end()
    if at < len(text[:LONGEST]):
        yield Piece(text[at:LONGEST], None)


def template(text: str) -> str:
    """The first line of a message with all values masked: the same for all lines that one print statement made."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    masked = "".join(p.kind.template if p.kind else p.text for p in pieces(line.strip()))
    masked = _LIST.sub(r"\1, ...", _QUOTED.sub("'*'", masked))
    return " ".join(masked.split())

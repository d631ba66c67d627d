"""Spans of text to redact, and how overlapping spans are resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import regex

Kind = Literal["secret", "email", "user", "ip", "host", "hosts"]


class Span(NamedTuple):
    """A part of a text, ``text[start:end]``, to redact.

    ``name`` is the name of the host, user or address. For a secret ``name`` is its type, for example "github-token".
    """

    start: int
    end: int
    kind: Kind
    name: str


def group_span(match: regex.Match[str], kind: Kind, name: str, group: int | str = 0) -> Span:
    """Return ``group`` of ``match`` as a span."""
    start, end = match.span(group)
    return Span(start, end, kind, name)


Finder = Callable[[str], Iterable[Span]]


def remove_overlaps(spans: Iterable[Span], length: int) -> list[Span]:
    """Drop spans that overlap an earlier one in ``spans``.

    The result is in the order of the text. ``length`` is the length of the text.
    """
    used, result = bytearray(length), list[Span]()
    for span in spans:
        if span.start < span.end and not any(used[span.start : span.end]):
            used[span.start : span.end] = b"x" * (span.end - span.start)
            result.append(span)
    return sorted(result)

"""What is found in a text that must not leave the house, and how several such finds are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import regex

Sort = Literal["secret", "email", "user", "ip", "host", "hosts"]


class Found(NamedTuple):
    """``text[start:end]`` is a secret of the kind ``name``, or somebody's or something's ``name``."""

    start: int
    end: int
    sort: Sort
    name: str


def within(match: regex.Match[str], sort: Sort, name: str, group: int | str = 0) -> Found:
    """What ``group`` of ``match`` holds, as something found."""
    start, end = match.span(group)
    return Found(start, end, sort, name)


Finder = Callable[[str], Iterable[Found]]


def without_overlaps(finds: Iterable[Found], length: int) -> list[Found]:
    """Those of ``finds`` in a text of ``length`` that do not overlap an earlier one, in the order of the text."""
    taken, kept = bytearray(length), list[Found]()
    for one in finds:
        if one.start < one.end and not any(taken[one.start : one.end]):
            taken[one.start : one.end] = b"x" * (one.end - one.start)
            kept.append(one)
    return sorted(kept)

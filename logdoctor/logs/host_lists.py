"""Compressed lists of hosts and numbers, as Slurm prints them.

Examples: ``node[01-03,07]-ib`` and ``0-3,7``.  Source: Slurm src/common/hostlist.c and bitstring.c.  Text that cannot
be read is returned unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later

MAX_NAMES = 4096
"""Expand a list to at most this many members, because the text is untrusted."""

_MAX_BRACKETS = 4
_MAX_TEXT = 1 << 16

_RANGE = later(r"(\d{1,12})-(\d{1,12})(?::(\d{1,6}))?")
_NUMBER = later(r"\d{1,12}")
_ITEM = later(r"[^,\[\]]*(?:\[[^\[\]]*\][^,\[\]]*)*")
_BRACKET = later(r"\[([^\[\]]*)\]")


def expand_numbers(text: str) -> tuple[int, ...]:
    """Expand ``0-3,7`` to (0, 1, 2, 3, 7). Parts that are no number are left out."""
    return tuple(dict.fromkeys(found for item in _expand_list(text) if (found := number(item)) is not None))


def expand_hosts(text: str) -> tuple[str, ...]:
    """Expand ``node[01-02],login1`` to (node01, node02, login1).

    Each host occurs once, in the order printed, and at most `MAX_NAMES` in all.
    """
    items = (item.strip() for item in _ITEM.findall(text[:_MAX_TEXT]))
    return tuple(dict.fromkeys(islice((name for item in items for name in _expand_item(item)), MAX_NAMES)))


def _expand_item(item: str) -> Iterator[str]:
    """Expand an item without commas: ``r[1-2]n[1-2]`` -> r1n1, r1n2, r2n1, r2n2."""
    bracket = _BRACKET.search(item)
    if bracket is None or item.count("[") > _MAX_BRACKETS:
        if item:
            yield item
        return
    for digits in _expand_list(bracket[1]):
        for rest in _expand_item(item[bracket.end() :]) if bracket.end() < len(item) else ("",):
            yield item[: bracket.start()] + digits + rest


def _expand_list(text: str) -> Iterator[str]:
    """Expand ``01-03,7`` to 01, 02, 03, 7, as wide as printed."""
    remaining = MAX_NAMES
    for part in text.split(",", MAX_NAMES)[:MAX_NAMES]:
        for digits in _expand_range(part.strip(), remaining):
            remaining -= 1
            yield digits
        if remaining <= 0:
            return


def _expand_range(part: str, limit: int) -> Iterator[str]:
    match = _RANGE.fullmatch(part)
    if match is None:
        if _NUMBER.fullmatch(part) and limit > 0:
            yield part
        return
    first, last, step = (number(digits) for digits in match.groups())
    if first is not None and last is not None:
        for found in range(first, last + 1, step or 1)[: max(limit, 0)]:
            yield str(found).zfill(len(match[1]))

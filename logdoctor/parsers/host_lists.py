"""Compressed lists of hosts and numbers as Slurm prints them: ``node[01-03,07]-ib`` and ``0-3,7``.

Source: Slurm src/common/hostlist.c and bitstring.c.  What cannot be read is given back as it stands, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from logdoctor.regexes import later

MAX_NAMES = 4096
"""A list is never expanded beyond this many members: the text is untrusted."""

_MAX_BRACKETS = 4
_MAX_TEXT = 1 << 16

_RANGE = later(r"(\d{1,12})-(\d{1,12})(?::(\d{1,6}))?")
_NUMBER = later(r"\d{1,12}")
_ITEM = later(r"[^,\[\]]*(?:\[[^\[\]]*\][^,\[\]]*)*")
_BRACKET = later(r"\[([^\[\]]*)\]")


def expand_numbers(text: str) -> tuple[int, ...]:
    """``0-3,7`` -> (0, 1, 2, 3, 7), at most `MAX_NAMES`; parts that are no number are left out."""
    return tuple(dict.fromkeys(int(number) for number in _numbers(text)))


def expand_hosts(text: str) -> tuple[str, ...]:
    """``node[01-02],login1`` -> (node01, node02, login1), at most `MAX_NAMES`, each once, in the order printed."""
    items = (item.strip() for item in _ITEM.findall(text[:_MAX_TEXT]))
    return tuple(dict.fromkeys(islice((name for item in items for name in _names(item)), MAX_NAMES)))


def _names(item: str) -> Iterator[str]:
    """The names of one comma-free item; several brackets multiply, the last one varies fastest."""
    bracket = _BRACKET.search(item)
    if bracket is None or item.count("[") > _MAX_BRACKETS:
        if item:
            yield item
        return
    for number in _numbers(bracket[1]):
        for rest in _names(item[bracket.end() :]) if bracket.end() < len(item) else ("",):
            yield item[: bracket.start()] + number + rest


def _numbers(text: str) -> Iterator[str]:
    """The numbers of a list, in the width in which the range's start is written; at most `MAX_NAMES`."""
    left = MAX_NAMES
    for part in text.split(",", MAX_NAMES)[:MAX_NAMES]:
        for number in _one_range(part.strip(), left):
            left -= 1
            yield number
        if left <= 0:
            return


def _one_range(part: str, limit: int) -> Iterator[str]:
    found = _RANGE.fullmatch(part)
    if found is None:
        if _NUMBER.fullmatch(part) and limit > 0:
            yield part
        return
    first, last, step = found.groups()
    for count, number in enumerate(range(int(first), int(last) + 1, max(1, int(step or 1)))):
        if count >= limit:
            return
        yield str(number).zfill(len(first))

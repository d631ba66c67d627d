"""Lines below the first line of a record, and the readers that a format states by a pattern of them.

These are ``next``, ``while`` and ``until``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, takewhile

import regex

from logdoctor.logs.record_pattern import MAX_MULTILINE_LINES, Message, Multiline, MultilineReader
from logdoctor.model import Value
from logdoctor.model.numbers import number_or_text
from logdoctor.pack.regexes import later

MAX_UNTIL = 40
"""Lines that are read for the end of an ``until``."""


def matching(
    below: Iterator[Message], pattern: regex.Pattern[str], most: int = MAX_MULTILINE_LINES
) -> Iterator[tuple[Message, regex.Match[str]]]:
    """Yield the lines down to the first whose start does not match, each with its match."""
    for line in islice(below, most):
        match = pattern.match(line.text)
        if match is None:
            return
        yield line, match


def numbers_of(lines: Iterable[Message]) -> tuple[int, ...]:
    """Return the numbers of lines, for `Multiline.taken`."""
    return tuple(line.below for line in lines)


def joined(head: Message, lines: Iterable[Message]) -> str:
    """Return the text of a head and the lines below it."""
    return "\n".join([head.text, *(line.text for line in lines)])


def read_next(pattern: str) -> MultilineReader:
    """Return a reader that takes the next line that is not blank, if it matches.

    Named groups become fields.  With the group ``message`` that line is quoted, and is part of the text.
    """
    expression = later(pattern)

    def read(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
        line = next((line for line in below if line.text.strip()), None)
        match = expression.search(line.text) if line else None
        if line is None or match is None:
            return Multiline(head.text)
        groups = {name: value for name, value in match.groupdict().items() if value}
        fields = {name: number_or_text(value) for name, value in groups.items()}
        if "message" not in groups:
            return Multiline(head.text, fields, (line.below,))
        return Multiline(f"{head.text.strip()}\n{line.text.strip()}", fields, (line.below,), line.below)

    return read


def read_while(pattern: str) -> MultilineReader:
    """Return a reader that takes all lines up to the first that does not match."""
    expression = later(pattern)

    def read(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
        taken = takewhile(lambda line: expression.search(line.text), below)
        return Multiline(head.text, taken=numbers_of(taken))

    return read


def read_if(pattern: str, within: int = 1) -> MultilineReader:
    """Return a reader that makes the record only if one of the next lines matches.

    Named groups become fields. With such a group that line belongs to the record.
    """
    expression = later(pattern)

    def read(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
        found = next(((line, hit) for line in islice(below, within) if (hit := expression.search(line.text))), None)
        if found is None:
            return None
        fields = {name: number_or_text(value) for name, value in found[1].groupdict().items() if value}
        return Multiline(head.text, fields, (found[0].below,) if fields else ())

    return read


def read_unless(pattern: str, within: int) -> MultilineReader:
    """Return a reader that makes no record if one of the next lines matches."""
    expression = later(pattern)

    def read(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
        return None if any(expression.search(line.text) for line in islice(below, within)) else Multiline(head.text)

    return read


def read_until(pattern: str) -> MultilineReader:
    """Return a reader that takes all lines up to the one that matches, or none if none matches."""
    expression = later(pattern)

    def read(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
        lines = [*islice(below, MAX_UNTIL)]
        end = next((at for at, line in enumerate(lines, 1) if expression.search(line.text)), 0)
        return Multiline(head.text, taken=numbers_of(lines[:end]))

    return read

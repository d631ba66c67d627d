"""Readers that a format states by a pattern: ``next``, ``while`` and ``until``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, takewhile

from logdoctor.logs.record_pattern import Message, Multiline, MultilineReader
from logdoctor.model import Value
from logdoctor.model.numbers import number_or_text
from logdoctor.pack.regexes import later

MAX_UNTIL = 40
"""Lines that are read for the end of an ``until``."""


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
        return Multiline(head.text, taken=tuple(line.below for line in taken))

    return read


def read_until(pattern: str) -> MultilineReader:
    """Return a reader that takes all lines up to the one that matches, or none if none matches."""
    expression = later(pattern)

    def read(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
        taken = list[int]()
        for line in islice(below, MAX_UNTIL):
            taken.append(line.below)
            if expression.search(line.text):
                return Multiline(head.text, taken=tuple(taken))
        return Multiline(head.text)

    return read

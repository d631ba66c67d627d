"""Input that was read, input that was not, and evidence that was set aside."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from logdoctor.model.log import Count, Number

MAX_INPUTS = 4096
"""Inputs that are listed."""
MAX_NOT_JUDGED = 64
"""Stretches of lines set aside that are listed."""

ReadState = Literal["whole", "part", "not"]


class InputRead(Struct, frozen=True):
    """A file, a member of an archive, or standard input, and how much of it was read."""

    file: str
    """The path; for a member of an archive archive.tar:member; for standard input <stdin>."""
    kind: str = "text"
    """text, empty, blank, or what the first bytes show: an image, a Python pickle, a JSON document, ..."""
    bytes: Count = 0
    """Bytes that were read, after unpacking."""
    lines: Count = 0
    """Lines that were read."""
    records: Count = 0
    """Messages in it that a format recognises."""
    read: ReadState = "whole"
    """whole, part or not."""
    why: str = ""
    """Reason for which it was not read whole, or for which nothing was in it."""
    named: bool = False
    """The user named this input; false: it was found in a folder or an archive."""
    matters: bool = False
    """The part that was not read may hold evidence."""


class NotJudged(Struct, frozen=True):
    """Lines that are no evidence because they belong to another time or another host."""

    file: str
    """The file."""
    first_line: Number
    """The first of the lines."""
    last_line: Number
    """The last of the lines."""
    records: Number
    """Number of these lines."""
    what: str
    """The lines, for example kernel messages."""
    why: str
    """The reason, for example another host."""


class Coverage(Struct, frozen=True):
    """Amount of input that was read."""

    files: Count = 0
    """Number of inputs that were read."""
    bytes: Count = 0
    """Bytes that were read, after unpacking."""
    lines: Count = 0
    """Lines that were read."""
    records: Count = field(default=0, name="events")
    """Messages that a format recognises."""
    inputs: tuple[InputRead, ...] = ()
    """Each input, in reading order. If there are too many, those not read whole are listed first."""
    unlisted: Count = 0
    """Number of further inputs that are not listed."""
    not_judged: tuple[NotJudged, ...] = ()
    """Lines that were read and set aside."""


def unread(coverage: Coverage) -> tuple[InputRead, ...]:
    """Return the inputs that were not read whole and may hold evidence."""
    return tuple(source for source in coverage.inputs if source.matters)


def unusable(coverage: Coverage) -> tuple[InputRead, ...]:
    """Return the inputs that the user named and that are missing, unreadable or empty."""
    return tuple(s for s in coverage.inputs if s.named and (s.read == "not" or s.kind in ("empty", "blank")))

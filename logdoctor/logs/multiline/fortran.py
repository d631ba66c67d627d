"""Places of run-time errors of Fortran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.pack.regexes import later

MAX_BELOW = 8
_PLACE_ONLY = later(r"\s*$|At line \d{1,7} of file |Error termination\.|#\d")
"""Lines that may follow a place of libgfortran whose message is cut off: places of other ranks, and the stack."""


def read_place(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the place of an error, if its message is missing below.

    With a message below return None, because the message has a record of its own.
    """
    cut = all(_PLACE_ONLY.match(message.text) for message in islice(below, MAX_BELOW))
    return Multiline(head.text, fields) if cut else None

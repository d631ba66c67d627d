"""Errors that ended a script in R, Julia, MATLAB or Octave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline, MultilineReader
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_NO_MEMORY = later(r"cannot allocate (?:vector of size|memory block|buffer)|OutOfMemoryError\(\)|^Out of memory\b")


def script_error(*, under: str = "") -> MultilineReader:
    """Build a reader of an error whose text goes on below.

    The text goes on if the head ends in a colon, ends in a comma or is empty. With ``under`` the reader returns None
    unless a line below matches ``under``.
    """
    seal = later(under) if under else None

    def read(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
        lines = [(line.below, line.text.strip()) for line in islice(below, 12)]
        if seal and not any(seal.match(text) for _, text in lines):
            return None
        message, taken = str(fields.get("message", "")).strip(), list[int]()
        silent = not message
        for number, text in lines[:2]:
            if (message and message[-1] not in ":,") or not text:
                break
            message = f"{message} {text}".strip()
            taken.append(number)
        kind = "simulation.no_memory" if _NO_MEMORY.search(message) else ""
        text = head.text if not taken else f"{head.text}\n{message}"
        return Multiline(text, {"message": message}, tuple(taken), taken[0] if silent and taken else 0, kind=kind)

    return read

"""Ends of the processes of an inference server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number, number_or_text
from logdoctor.pack.regexes import later


def read_signal(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Return the signal, and its negative number as exit code."""
    signal = number(str(fields.get("signal", 0))) or 0
    return Multiline(head.text, {"signal": signal, "exit_code": -signal})


_EXIT_CODE = later(r"Exit code: (?P<exit_code>-?[1-9]\d{0,9})\s*$")
_SIGNALS = (-4, -6, -7, -8, -9, -11)
"""Of these it dies by itself or from outside; others are what the launcher ends the rest with."""


def read_exit_code(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the exit code of a dead scheduler from the next line."""
    under = next(below, None)
    if under is None or not (match := _EXIT_CODE.match(under.text)):
        return Multiline(head.text)
    code = number_or_text(match["exit_code"])
    kind = "frameworks.exit" if code in _SIGNALS else ""
    return Multiline(f"{head.text}\n{under.text}", {"exit_code": code}, (under.below,), kind=kind)

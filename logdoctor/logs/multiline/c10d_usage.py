"""Missing ranks, and DDP's advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.multiline.lines_below import joined, matching, numbers_of
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields, numbers_in
from logdoctor.pack.regexes import later

_EXCEPTION = later(r"\s*(?:Original exception|Rank \d+ |\[\S*gloo/)")
_ADVICE = later(
    r"\s*(?:Parameter|making sure all|If you already|find_unused|In addition|Since|Please include|the loss|"
    r"function\.|the outputs?|You can|This error|by\b|return value)"
)
_WITHOUT_GRADIENT = later(r"did not receive grad for rank (?P<rank>\d+)")
_PARAMETERS = later(r"did not receive grad for rank \d+: (?P<parameters>[^\n]+)")


def with_ranks(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Return the missing ranks as numbers, and the exception if it follows."""
    listed = numbers_in(str(fields.get("missing", "")))
    more: dict[str, Value] = {"ranks": tuple(listed[:4096])} if listed else {}
    lines = [line for line, _ in matching(below, _EXCEPTION, 5)]
    return Multiline(joined(head, lines), more, numbers_of(lines))


def with_advice(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the lines of DDP's explanation. The last line lists the parameters."""
    lines = [line for line, _ in matching(below, _ADVICE)]
    text = joined(head, lines)
    more: dict[str, Value] = {}
    if named := _PARAMETERS.search(text):
        more["parameters"] = named["parameters"].strip()[:500]
    if without_gradient := _WITHOUT_GRADIENT.search(text):
        more |= number_fields(without_gradient.groupdict())
    return Multiline(text, more, numbers_of(lines))

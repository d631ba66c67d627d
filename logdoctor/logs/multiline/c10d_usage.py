"""Missing ranks, and DDP's advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields, numbers_in
from logdoctor.pack.regexes import compiled


def with_ranks(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Return the missing ranks as numbers, and the exception if it follows."""
    listed = numbers_in(str(fields.get("missing", "")))
    more: dict[str, Value] = {"ranks": tuple(listed[:4096])} if listed else {}
    lines, taken = [head.text], list[int]()
    for message in below:
        if not compiled(r"\s*(?:Original exception|Rank \d+ |\[\S*gloo/)").match(message.text) or len(taken) > 4:
            break
        lines.append(message.text)
        taken.append(message.below)
    return Multiline("\n".join(lines), more, tuple(taken))


def with_advice(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the lines of DDP's explanation. The last line lists the parameters."""
    lines, taken, parameters = [head.text], list[int](), ""
    for message in below:
        if not regex.match(
            r"\s*(?:Parameter|making sure all|If you already|find_unused|In addition|Since|Please include|the loss|"
            r"function\.|the outputs?|You can|This error|by\b|return value)",
            message.text,
        ):
            break
        lines.append(message.text)
        taken.append(message.below)
    text = "\n".join(lines)
    if match := compiled(r"did not receive grad for rank \d+: (?P<parameters>[^\n]+)").search(text):
        parameters = match["parameters"].strip()[:500]
    rank = compiled(r"did not receive grad for rank (\d+)").search(text)
    more: dict[str, Value] = {"parameters": parameters} if parameters else {}
    if rank:
        more |= number_fields({"rank": rank[1]})
    return Multiline(text, more, tuple(taken))

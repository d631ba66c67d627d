"""Options that a container program does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_HELP = later(r"^(?:See|Run) '(?P<program>docker|podman|nerdctl)(?: \w+){0,2} --help'")


def unknown_option(head: Message, _: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the program from the hint to its help.

    Return None without the hint, because many programs print the same message about an option.
    """
    for line in islice(below, 6):
        if match := _HELP.search(line.text):
            return Multiline(head.text, {"program": match["program"]}, (line.below,))
    return None

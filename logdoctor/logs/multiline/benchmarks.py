"""Tables of benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_ROW = later(r"\s*\d+(?:\s+[\d.]+){1,8}\s*$")


def read_first_row(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Return the head of a table whose first row was measured.

    The row proves that an error before it did not stop the ranks.
    """
    return Multiline(head.text) if any(_ROW.match(line.text) for line in islice(below, 1)) else None

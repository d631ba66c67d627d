"""Kernel messages that syslogd broadcasts to all terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice

from logdoctor.logs import record_patterns
from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.model.numbers import number_or_text
from logdoctor.pack.regexes import compiled

_LINES_BETWEEN = 2


@cache
def _kernel_failures() -> tuple[RecordPattern, ...]:
    return tuple(r for r in record_patterns() if r.format == "kernel" and r.level in ("error", "fatal"))


def read_broadcast(_head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the failure on the lines below the headline. Return None if no record of the kernel matches a line."""
    for message in islice(below, _LINES_BETWEEN):
        for pattern in _kernel_failures():
            if match := compiled(pattern.pattern).search(message.text):
                values = {k: number_or_text(v) for k, v in match.groupdict().items() if v}
                text = message.text.strip()
                return Multiline(
                    text, {**values, **fields}, (message.below,), message.below, pattern.level, pattern.kind
                )
    return None

"""Broadcasts of syslogd to all terminals of a host.

Example of a headline: ``Message from syslogd@node7 at Dec 10 05:25:44 ...``.
The line of the kernel stands below the headline, and only the headline names the host.  So the record is that of the
kernel line, with the host added.  Shape: rsyslog's omusrmsg, wall.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.formats.machine import kernel, kernel_gpu, kernel_io
from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import compiled

_LINES_BETWEEN = 2
_SEVERE = tuple(r for r in (*kernel.RECORDS, *kernel_gpu.RECORDS, *kernel_io.RECORDS) if r.level in ("error", "fatal"))


def read_broadcast(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the failure on the lines below the headline.

    Return None if no record of the kernel matches a line.
    """
    del head
    for message in islice(below, _LINES_BETWEEN):
        for pattern in _SEVERE:
            if match := compiled(pattern.pattern).search(message.text):
                values = {k: int(v) if v.isdecimal() else v for k, v in match.groupdict().items() if v}
                text = message.text.strip()
                return Multiline(
                    text, {**values, **fields}, (message.below,), message.below, pattern.level, pattern.kind
                )
    return None


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "kernel.broadcast",
        r"^Message from syslogd@(?P<host>[\w-]+)[\w.-]* at .{10,40}$",
        "info",
        read_broadcast,
        "The host shows an emergency of its kernel on every terminal.",
        scan="Message from syslogd@",
    ),
)

"""Broadcasts of syslogd to all terminals of a host.

Example of a headline: ``Message from syslogd@node7 at Dec 10 05:25:44 ...``.
The line of the kernel stands below the headline, and only the headline names the host.  So the record is that of the
kernel line, with the host added.  Shape: rsyslog's omusrmsg, wall.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.model import Value
from logdoctor.parsers.dialects import kernel, kernel_gpu, kernel_io
from logdoctor.parsers.record import Bare, Block, Record
from logdoctor.regexes import compiled

_LINES_BETWEEN = 2
_SEVERE = tuple(r for r in (*kernel.RECORDS, *kernel_gpu.RECORDS, *kernel_io.RECORDS) if r.level in ("error", "fatal"))


def read_broadcast(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """The failure that the line below the headline tells; None if the kernel's records know no such one."""
    del head
    for bare in islice(below, _LINES_BETWEEN):
        for record in _SEVERE:
            if found := compiled(record.pattern).search(bare.text):
                told = {k: int(v) if v.isdecimal() else v for k, v in found.groupdict().items() if v}
                text = bare.text.strip()
                return Block(text, {**told, **fields}, (bare.below,), bare.below, record.level, record.kind)
    return None


RECORDS: tuple[Record, ...] = (
    Record(
        "kernel.broadcast",
        r"^Message from syslogd@(?P<host>[\w-]+)[\w.-]* at .{10,40}$",
        "info",
        read_broadcast,
        "The host shows an emergency of its kernel on every terminal.",
        scan="Message from syslogd@",
    ),
)

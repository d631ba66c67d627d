"""Lines in which a batch system reports the end of a job.

The end is a signal in words, an exit code, or a list of tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.host_lists import expand_numbers
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.logs.signals import signal_number
from logdoctor.model import Value


def read_end(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Add ``signal`` and ``ranks`` to a line about a job's end.

    The signal comes from the field ``signal_text``, and ``ranks`` from the list in ``tasks`` (``0-3`` is 0, 1, 2, 3).
    PBS prints 256 + signal as exit code, so 265 is signal 9.
    """
    del below
    extra: dict[str, Value] = {}
    if number := signal_number(str(fields.get("signal_text", ""))):
        extra["signal"] = number
    code = fields.get("exit_code")
    if isinstance(code, int) and 256 < code < 320:
        extra["signal"] = code - 256
    if "tasks" in fields and (ranks := expand_numbers(str(fields["tasks"]))):
        extra["ranks"] = ranks
    return Multiline(head.text, extra)

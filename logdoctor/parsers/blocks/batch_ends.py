"""How a batch system says that a job ended: by a signal in words, an exit code, a list of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.model import Value
from logdoctor.parsers.host_lists import expand_numbers
from logdoctor.parsers.record import Bare, Block
from logdoctor.parsers.signals import signal_number


def read_end(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """``signal`` of a signal in words; ``ranks`` of a list of tasks; an exit code above 256 of PBS is 256 + signal."""
    del below
    more: dict[str, Value] = {}
    if number := signal_number(str(fields.get("signal_text", ""))):
        more["signal"] = number
    code = fields.get("exit_code")
    if isinstance(code, int) and 256 < code < 320:
        more["signal"] = code - 256
    if "tasks" in fields and (ranks := expand_numbers(str(fields["tasks"]))):
        more["ranks"] = ranks
    return Block(head.text, more)

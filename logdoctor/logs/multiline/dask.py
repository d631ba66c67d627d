"""Ends of Dask's workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value

_SIGTERM = 15

_AGAIN, _SOON = "Restarting worker", 6
"""Line of a nanny below the unexpected end of a worker. Many nannies write into one log."""


def read_exit(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Set level info for a worker that its cluster ended on purpose.

    A cluster that is scaled down or closed ends workers with SIGTERM and does not restart them.
    """
    signal = fields.get("signal")
    if not isinstance(signal, int):
        return Multiline(head.text)
    wanted = signal == _SIGTERM and not any(_AGAIN in message.text for message in islice(below, _SOON))
    return Multiline(head.text, {"exit_code": -signal}, level="info" if wanted else None)

"""Ends of processes as MPT and LAM/MPI tell them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number_or_text
from logdoctor.pack.regexes import later

_LAM_ENDED = later(
    r"PID (?P<pid>\d{1,10}) failed on node n\d{1,6} \((?P<host>[\w.-]{1,255})\) (?:due to signal (?P<signal>\d{1,3})|"
    r"with exit status (?P<exit_code>\d{1,3}))"
)


def read_lam_end(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read LAM's text about an ended process. Its last line gives pid, host, signal or exit code."""
    taken = list[int]()
    for line in islice(below, 10):
        taken.append(line.below)
        if match := _LAM_ENDED.search(line.text):
            values = {k: number_or_text(v) for k, v in match.groupdict().items() if v}
            return Multiline(f"{head.text}\n{line.text.strip()}", values, tuple(taken), line.below)
    return Multiline(head.text)

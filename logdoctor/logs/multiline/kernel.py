"""Stacks of the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile

from logdoctor.logs.multiline.lines_below import numbers_of
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_MAX_FRAMES = 24
_FRAME = later(r"(?P<function>[A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(?P<module>\w+)\])?")
_STACK = later(
    r"Call Trace:|^(?:\[[^\]]*\]\s?)*\s*(?:task:\S.{0,60}state:|</?TASK>|R[A-Z0-9]{2}: |\"echo 0 > |"
    r"(?:Not tainted|Tainted:)|Workqueue: |\S.{0,20}? +[DRSI] +(?:[0-9a-f]{8,16}|running(?: task)?|\d{1,7}) +\d+ +\d+ |"
    r"(?:[0-9a-f]{16} ?){2,4}$)"
)
"""Lines between the frames. Until Linux 5.x the state of the task and words of its stack in hex follow its name."""


def read_stack(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the kernel stack below the head. The field ``frames`` holds its functions, innermost first."""
    lines = [*takewhile(lambda line: _FRAME.search(line.text) or _STACK.search(line.text), below)]
    frames = [frame["function"] for line in lines if (frame := _FRAME.search(line.text))][:_MAX_FRAMES]
    more: dict[str, Value] = {"frames": tuple(frames), "message": " < ".join(frames)} if frames else {}
    return Multiline(head.text, more, numbers_of(lines))

"""Native crashes: stacks, C++ exceptions, Rust panics.

Stack lines come in six shapes: gdb (``#0  0x7f… in f (…) from lib``), glog and abseil (``@ 0x7f… f``), glibc
(``lib(f+0x1f) [0x7f…]``), UCX (`` 3 /lib/x.so(f+0x1f) [0x7f…]``), PyTorch (``frame #3: f + 0x1f (0x7f… in lib)``) and
sanitizers (``#0 0x7f… in f file:12``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.frames import NATIVE, NO_FUNCTION, RUNTIME_LIBRARY, STACK_WORDS
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.logs.signals import signal_number
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import later

_MAX_FRAMES = 40
_MAX_BETWEEN = 12
_NEXT_FRAME = later(r"\s{6,}(?=\d{1,2} +0x[0-9a-f]{8,16} )")
"""The gap between two frames on the same line. A copy out of a terminal window can lose the line break."""
_GLOBAL_RANK = later(r"\[PG [^\]]{0,80}\(default_pg\) Rank (?P<rank>\d{1,7})\]")
"""PyTorch 2.3 and newer also write the rank into the exception. Only in the default group is it the global rank."""
_GROUP_RANK = later(r"\[Rank (?P<rank>\d{1,7})\] ")
"""PyTorch before 2.3 writes the rank inside the process group, which is mostly the whole job."""
_WHAT = later(r"(?:what\(\):\s*)+(?!terminate called)(?P<message>\S.*)?|what\(\):")
_OTHER_PROCESS = later(r"^(?:\[[\w.-]{1,255}:\d+\]|\*\*\* )")
_PLACE = later(r"^\([\w./+-]{1,200}:\d+\)|^\s*$|^\s*what\(\):")
"""Lines between ``what():`` and its message. Some programs print the place in the source or a blank line there."""
_TRACE = later(r"^(?:Exception raised from |C\+\+ CapturedTraceback|frame #\d+)")
_PANIC_NOTES = ("note: run with", "stack backtrace:", "thread '")
_NEXT_RECORD = later(
    r"^(?:\[[\w.-]{1,255}:\d{1,10}\] |terminate called|Fatal Python error|Traceback \(most|\*\*\* |Aborted|"
    r"\[\w+\]|\[W|\[E|$|(?:[\w.-]{1,255}: )?rank \d{1,7} (?:exited with|died from) |"
    r"(?:srun|slurmstepd|prterun|mpirun): |[=-]{20}|\S{1,300}: line \d{1,7}: {1,7}\d{1,10} )"
)
"""The first line after the message of an exception: another record, or a launcher or shell that saw the end."""


def signal_field(fields: Mapping[str, Value]) -> dict[str, Value]:
    """Return the number of a signal in words, as field ``signal``.

    The words stand in the field ``signal_text`` or ``message``. ``Segmentation fault`` gives ``{"signal": 11}``. A text
    without a signal gives no field.
    """
    text = str(fields.get("signal_text", fields.get("message", "")))
    number = signal_number(text)
    return {} if number is None else {"signal": number}


def read_signal(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Add the number of the signal that the line names in words."""
    del below
    return Multiline(head.text, signal_field(fields))


def read_stack(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the head and the stack below.

    Fields: ``frames`` (functions), ``library`` (the first that is no run-time library), and ``signal`` if the head
    names a signal.
    """
    lines: list[str] = [head.text]
    taken: list[int] = []
    frames: list[str] = []
    libraries: list[str] = []
    between = 0
    for line in below:
        matches = [frame for text in _NEXT_FRAME.split(line.text) if (frame := NATIVE.match(text))]
        if not matches:
            between += 1
            if between > _MAX_BETWEEN or STACK_WORDS.match(line.text) is None:
                break
            continue
        taken.append(line.below)
        if len(lines) < _MAX_FRAMES:
            lines.append(line.text.strip())
        for function, library in (frame.group("function", "library") for frame in matches):
            if function and not function.startswith(NO_FUNCTION) and len(frames) < _MAX_FRAMES:
                frames.append(function.strip())
            if library and not RUNTIME_LIBRARY.search(library):
                libraries.append(library)
    extra = signal_field(fields)
    if frames:
        extra["frames"] = tuple(frames)
    if libraries:
        extra["library"] = libraries[0]
    return Multiline("\n".join(lines), extra, tuple(taken))


def read_terminate(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read ``terminate called …``, ``what():``, the message's lines, and C++ frames.

    Processes that write at the same time put several ``terminate`` and ``what():`` heads before the same message. The
    line to quote is the line with the message.
    """
    del fields
    lines: list[str] = [head.text]
    taken: list[int] = []
    message, state, evidence = "", "before", 0
    for line in below:
        what = _WHAT.search(line.text)
        if state == "before":
            if what is None and (len(taken) + 1 >= _MAX_BETWEEN or not line.text.startswith("terminate called")):
                if taken or line.text.strip():
                    break
                continue
            if what is not None and (what["message"] or "terminate called" not in line.text):
                message, state, evidence = what["message"] or "", "message" if what["message"] else "empty", line.below
        elif state == "empty" and not _OTHER_PROCESS.match(line.text):
            if not _PLACE.match(line.text):
                message, state, evidence = line.text.strip(), "message", line.below
        elif state == "message" and _TRACE.match(line.text):
            state = "trace"
        elif (
            (state == "trace" and not _TRACE.match(line.text))
            or _NEXT_RECORD.match(line.text)
            or len(lines) > _MAX_BETWEEN
        ):
            break
        elif state == "empty" or line.source.logger is not None or line.source.rank != head.source.rank:
            break  # the line has a prefix of its own, which the lines of what() never have
        taken.append(line.below)
        if state != "trace":
            lines.append(line.text)
    return Multiline("\n".join(lines), _message_fields(head, message), tuple(taken), evidence)


def _message_fields(head: Message, message: str) -> dict[str, Value]:
    """Return the message, and the rank at its beginning, as fields."""
    fields: dict[str, Value] = {"message": message} if message else {}
    if head.source.rank is None and (match := _GLOBAL_RANK.match(message)):
        fields |= number_fields(match.groupdict())
    elif match := _GROUP_RANK.match(message):
        fields |= number_fields({"group_rank": match["rank"]})
    return fields


def read_panic(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read a Rust panic. Since Rust 1.73 the message stands on the line below the head.

    Input: ``thread 'main' panicked at src/main.rs:4:5:`` and below ``index out of bounds``.
    """
    if fields.get("message"):
        return Multiline(head.text)
    line = next(below, None)
    if line is None or not line.text.strip() or line.text.startswith(_PANIC_NOTES):
        return Multiline(head.text)
    message = line.text.strip()
    return Multiline(f"{head.text}\n{message}", {"message": message}, (line.below,), line.below)

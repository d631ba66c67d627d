"""Block readers for native crashes: the stack below a crash line, the words of a C++ exception and of a Rust panic.

Stack lines come in six shapes: gdb (``#0  0x7f… in f (…) from lib``), glog and abseil (``@ 0x7f… f``), glibc
(``lib(f+0x1f) [0x7f…]``), UCX (`` 3 /lib/x.so(f+0x1f) [0x7f…]``), PyTorch (``frame #3: f + 0x1f (0x7f… in lib)``) and
sanitizers (``#0 0x7f… in f file:12``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.model import Value
from logdoctor.parsers.record import Bare, Block
from logdoctor.parsers.signals import signal_number
from logdoctor.regexes import later

_MAX_FRAMES = 40
_MAX_BETWEEN = 12
FRAME = later(
    r"^\s*(?:"
    r"#\d+ +(?:0x[0-9a-f]+ in )?(?P<function>[^\s(][^(\n]{0,300}?) ?\((?:.{0,400}?\) from (?P<library>\S+))?"
    r"|#\d+ +0x[0-9a-f]+ (?:in (?P<function>\S{1,300}) |\()(?P<library>/[^\s:+)]{1,300})?"
    r"|(?:PC: )?@ +0x[0-9a-f]+ +(?:[\w.]+ +)?(?P<function>\S.{0,300})"
    r"|\d+ +(?:0x[0-9a-f]+ )?(?P<library>/[^\s(]{1,300})\((?P<function>[^)+]{0,300})"
    r"|\d+ +0x[0-9a-f]+ (?P<function>[\w:~][^\n]{0,300}?)\(\)"
    r"|\[?(?P<library>\S{1,300})\((?P<function>[^()]{0,300})\+0x[0-9a-f]+\)? ?\[0x[0-9a-f]+\]"
    r"|frame #\d+: (?P<function>.{1,600}?) \+ 0x[0-9a-f]+ \(0x[0-9a-f]+ in (?P<library>[^)]+)\)"
    r"|frame #\d+: <unknown function>.{0,20}(?:in (?P<library>[^)]+)\))?"
    r")",
)
_NEXT_FRAME = later(r"\s{6,}(?=\d{1,2} +0x[0-9a-f]{8,16} )")
"""Where a copy out of a terminal window lost the line break between two frames."""
NO_FUNCTION = ("(unknown)", "??", "<unknown")
RUNTIME_LIBRARY = later(r"lib(?:c|pthread|stdc\+\+|gcc_s|ucs)[.-]|ld-linux")
STACK_WORDS = later(
    r"^\s*(?:PC: @|0x[0-9a-f]+ in |\[?(?:Switching to|New Thread|Thread debugging)|\(gdb\)|Thread \d+ \(|warning: |"
    "Backtrace|"
    r"C\+\+ Traceback|Error termination|\*\*\* SIG|\[(?:SignalInfo|TimeInfo)|={4,}|File \"<unknown>\"|"
    r"[\w./~-]+:\d+\s*$|"
    r"\d+\s+in |\d+\t|$)"
)
_IN_DEFAULT_GROUP = later(r"\[PG [^\]]{0,80}\(default_pg\) Rank (?P<rank>\d{1,7})\]")
"""torch 2.3 and newer write who speaks into the exception too; only in the default group that is the global rank."""
_IN_A_GROUP = later(r"\[Rank (?P<rank>\d{1,7})\] ")
"""Older ones count inside the process group, which mostly is the whole job."""
_WHAT = later(r"(?:what\(\):\s*)+(?!terminate called)(?P<message>\S.*)?|what\(\):")
_FOREIGN = later(r"^(?:\[[\w.-]{1,255}:\d+\]|\*\*\* )")
_PLACE = later(r"^\([\w./+-]{1,200}:\d+\)|^\s*$|^\s*what\(\):")
"""Some put a line break and the place in the source before the words of ``what()``."""
_TRACE = later(r"^(?:Exception raised from |C\+\+ CapturedTraceback|frame #\d+)")
_PANIC_NOTES = ("note: run with", "stack backtrace:", "thread '")
_OTHER = later(
    r"^(?:\[[\w.-]{1,255}:\d{1,10}\] |terminate called|Fatal Python error|Traceback \(most|\*\*\* |Aborted|"
    r"\[\w+\]|\[W|\[E|$|(?:[\w.-]{1,255}: )?rank \d{1,7} (?:exited with|died from) |"
    r"(?:srun|slurmstepd|prterun|mpirun): |[=-]{20}|\S{1,300}: line \d{1,7}: {1,7}\d{1,10} )"
)
"""What ends the words of an exception that stands last: another record, or a launcher or shell that saw the end."""


def signal_of(fields: Mapping[str, Value]) -> dict[str, Value]:
    """The number of the signal that the field ``signal_text`` (or ``message``) names, as a field."""
    words = str(fields.get("signal_text", fields.get("message", "")))
    number = signal_number(words)
    return {} if number is None else {"signal": number}


def with_signal(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """A line that names a signal in words: field ``signal`` is its number."""
    del below
    return Block(head.text, signal_of(fields))


def read_stack(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """The head and the stack below it: fields ``frames``, ``library`` and, where the head names one, ``signal``."""
    lines: list[str] = [head.text]
    taken: list[int] = []
    frames: list[str] = []
    libraries: list[str] = []
    between = 0
    for bare in below:
        found = [frame for text in _NEXT_FRAME.split(bare.text) if (frame := FRAME.match(text))]
        if not found:
            between += 1
            if between > _MAX_BETWEEN or STACK_WORDS.match(bare.text) is None:
                break
            continue
        taken.append(bare.below)
        if len(lines) < _MAX_FRAMES:
            lines.append(bare.text.strip())
        for function, library in (frame.group("function", "library") for frame in found):
            if function and not function.startswith(NO_FUNCTION) and len(frames) < _MAX_FRAMES:
                frames.append(function.strip())
            if library and not RUNTIME_LIBRARY.search(library):
                libraries.append(library)
    more = signal_of(fields)
    if frames:
        more["frames"] = tuple(frames)
    if libraries:
        more["library"] = libraries[0]
    return Block("\n".join(lines), more, tuple(taken))


def read_terminate(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """``terminate called …`` with its ``what():``, the message's further lines, and the C++ frames below it.

    Processes that write at the same time put several ``terminate`` and ``what():`` heads before one message.  The line
    to quote is the one with the message.
    """
    del fields
    words: list[str] = [head.text]
    taken: list[int] = []
    message, state, evidence = "", "before", 0
    for bare in below:
        what = _WHAT.search(bare.text)
        if state == "before":
            if what is None and (len(taken) + 1 >= _MAX_BETWEEN or not bare.text.startswith("terminate called")):
                if taken or bare.text.strip():
                    break
                continue
            if what is not None and (what["message"] or "terminate called" not in bare.text):
                message, state, evidence = what["message"] or "", "message" if what["message"] else "empty", bare.below
        elif state == "empty" and not _FOREIGN.match(bare.text):
            if not _PLACE.match(bare.text):
                message, state, evidence = bare.text.strip(), "message", bare.below
        elif state == "message" and _TRACE.match(bare.text):
            state = "trace"
        elif (state == "trace" and not _TRACE.match(bare.text)) or _OTHER.match(bare.text) or len(words) > _MAX_BETWEEN:
            break
        elif state == "empty" or bare.speaker.source is not None or bare.speaker.rank != head.speaker.rank:
            break  # a record with a head of its own: the words of what() have none
        taken.append(bare.below)
        if state != "trace":
            words.append(bare.text)
    return Block("\n".join(words), _said_by(head, message), tuple(taken), evidence)


def _said_by(head: Bare, message: str) -> dict[str, Value]:
    """The message, and the rank that it names as its own."""
    more: dict[str, Value] = {"message": message} if message else {}
    if head.speaker.rank is None and (own := _IN_DEFAULT_GROUP.match(message)):
        more["rank"] = int(own["rank"])
    elif own := _IN_A_GROUP.match(message):
        more["group_rank"] = int(own["rank"])
    return more


def read_panic(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """A Rust panic: since Rust 1.73 the head ends with the place, and the message stands on the next line."""
    if fields.get("message"):
        return Block(head.text)
    bare = next(below, None)
    if bare is None or not bare.text.strip() or bare.text.startswith(_PANIC_NOTES):
        return Block(head.text)
    message = bare.text.strip()
    return Block(f"{head.text}\n{message}", {"message": message}, (bare.below,), bare.below)

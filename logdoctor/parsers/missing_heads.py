"""The stack at the start of a log that begins within it: an excerpt, ``tail -n``, a log that was rotated.

The scan finds a record by its head, and here the head is missing, so nobody sees that something failed.  The reader of
the record gets its head back; of a C++ exception only the frames are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from logdoctor.model import Candidate, Event, Line
from logdoctor.parsers.line_parser import LineParser
from logdoctor.parsers.record import MAX_BLOCK_LINES
from logdoctor.regexes import later

MAX_PIECES = 8
"""So many pieces of an excerpt are looked at."""
BEFORE, BOXED = 3, 9
"""So many lines may stand above the first whole frame, in a box more: what is left of the one before it."""
PLAIN, BOX = "Traceback (most recent call last):", "╭─ Traceback (most recent call last) ─╮"
_FRAME = later(r'\s*File "[^"]{1,500}", line \d+(?:, in |,? ?(?:in?)?\s*$)')
"""Whole, or broken by a narrow terminal before the function."""
_TORN = later(r'[^"]{0,500}", line \d+, in \S')
"""A frame of which the beginning is missing."""
_TORN_HEAD = later(r"[a-z]{0,8} ?\(?(?:most )?recent call last\)?:\s*$")
_BOX_LINE = later(r"│(?: [ ❱]? {0,6}\d+ │.*| {0,6}(?:\d+)? +│?)\s*$")
"""A source line of a box, or an empty one."""
_BOX_FRAME = later(r"│ \S[^│]{1,300}(?:\.pyx?:\d+ +│|:\d+ in(?: \S+| +│))")
_NATIVE = later(r"frame #\d{1,3}: (?P<function>[^\n]{3,300}?)(?: \+ 0x[0-9a-f]+)? \(")
_FRAMES = {
    "a native stack": later(  # gdb, glog, Fortran, PyTorch, UCX, backtrace_symbols(), Intel Fortran, macOS; Open MPI
        r" {0,4}#\d{1,3} +0x[0-9a-f]{4,16} in (?P<function>\S+)"
        r"|#\d{1,3} (?P<function>\S[^\n]{0,300}?) from \S{1,300}:\d+\W{0,3}$"
        r"| {0,4}\d{1,3} +0x[0-9a-f]{8,16} (?P<function>[\w.]+)\(\)"
        r"|(?: {0,4}(?:\d{1,3}:?|\[ ?\d{1,3}\]) +)?[\w./+-]{1,300}"
        r"\((?P<function>[^\s()+]{0,300})(?:\+0x[0-9a-f]+)?\) ?\[0x[0-9a-f]+\]"
        r"|[\w./+-]{1,80} +[0-9A-F]{16} +(?P<function>\S+) +(?:\d+|Unknown) +[\w./+-]{1,100}\s*$"
        r"|\d{1,3} {1,4}[\w.+-]{1,100} +0x[0-9a-f]{16} (?P<function>\S+) \+ \d+(?: |$)"
        r"| {0,4}(?:PC: )?@ {1,20}0x[0-9a-f]{1,16} +(?:(?:\d{1,12}|\(unknown\)) +)?(?P<function>\S+)"
    ),
    "a stack of Julia": later(
        r"(?P<function>[\w#!.~]{1,200}) at (?:[\w./@+-]{1,400}\.\w{1,4}:\d+(?: \[inlined\])?"
        r"|\S{1,400} \(unknown line\))\s*$"
    ),
    "a stack of Java": later(
        r"\s{1,12}at (?P<function>[\w$.<>/@-]{3,300})\((?:[\w$]{1,100}\.(?:java|scala|kt):\d+|Native Method)\)"
    ),
    "a stack of Go": later(r"\s{0,8}(?P<function>/\S{1,300}\.go:\d+) \+0x[0-9a-f]+\s*$"),
    "a dump of Python's stacks": later(r'\s*File "[^"]{1,500}", line \d+ in (?P<function>\S+)'),
    "MPICH's error stack": later(r"(?P<function>P?MPI[A-Z]{0,3}_\w{2,60}\(\d{1,5}\))\.* ?:"),
    "the memory map below a crash": later(
        r"(?P<function>[0-9a-f]{6,16}-[0-9a-f]{6,16}) [r-][w-][x-][ps] [0-9a-f]{8,16} "
    ),
}
"""Frames of one line each: what prints them does it for a failure, as the programs' manuals say."""
ENOUGH, AMONG = 2, 8
"""So many such frames among so many lines are a stack."""
_SOURCE = later(r" {3,4}|\s*[~^]+\s*$|\s*$|[\w.]{1,60} = |return |raise ")
"""What stands between frames: source lines (of which ``srun --label`` takes a space), marks below, empty lines."""
_STANDS_ABOVE = "most recent call"
"""The head of a traceback, of the stacks of a living process, of what a warning prints: it has a reader of its own."""
_LEFT_OUT = later(r"\W{0,3}(?:\.{3,}|…+|(?:snip|omitted|truncated|省略)\W*)\W{0,3}$")
"""What people write where they left lines out of an excerpt: below it a log begins anew."""
Match = Callable[[bytes], Sequence[int]]


def stack_at_start(file: str, lines: Iterable[Line], match: Match, order: int = 0) -> Iterator[Event]:
    """The record with whose later lines the log ``file``, or a piece of it, begins; ``match`` is the scan's search."""
    told = [line for line in islice(lines, MAX_BLOCK_LINES) if line.text.strip()]
    begins = [0, *(at + 1 for at, line in enumerate(told) if _LEFT_OUT.match(line.text))]
    for begin in begins[: MAX_PIECES + 1]:
        if found := [*_stack_at(file, told[begin:], match, order)]:
            yield from found
            return


def _stack_at(file: str, told: list[Line], match: Match, order: int) -> Iterator[Event]:
    """The record with whose later lines ``told`` begins, if it does."""
    parser = LineParser(file)
    if told and _TORN_HEAD.match(told[0].text):
        told = told[1:]
    boxed = bool(told) and _BOX_LINE.match(told[0].text) is not None
    for at, line in enumerate(told[: (BOXED if boxed else BEFORE) + 1]):
        piece = parser.pieces_at(line.number, line.text.encode())[0]
        if _STANDS_ABOVE in piece.text:
            return
        if native := _NATIVE.match(piece.text):
            said = f"The stack of a C++ exception, without its head: {native['function']}"
            yield Event(line, "crash", "crash.frames", said, parser.speaker(piece.who), "error", order=order)
            return
        if found := _frames(parser, told[at : at + AMONG]):
            said = f"The later lines of {found[0]}, without its head: {found[1]}"
            yield Event(line, "crash", "crash.frames", said, parser.speaker(piece.who), "error", order=order)
            return
        head = BOX if _BOX_FRAME.match(piece.text) else PLAIN
        torn = at == 0 and _TORN.match(piece.text) is not None
        if head == BOX or torn or _FRAME.match(piece.text):
            whole = told[min(at + torn, len(told) - 1)]
            candidate = _with_head(head, _prefix(parser, whole), told[at:], match, torn=torn)
            printed = dict(enumerate(told[at:], line.number))  # empty lines are left out
            for event in LineParser(file, match, order - 1).parse(candidate):
                yield replace(event, line=printed.get(event.line.number, line), lines=())
            return
        if not (_BOX_LINE if boxed else _SOURCE).match(piece.text):
            return


def _frames(parser: LineParser, lines: Sequence[Line]) -> tuple[str, str] | None:
    """What the ``lines`` are the frames of, if they are, and what the first of them names; it is the first line."""
    texts = (parser.pieces_at(line.number, line.text.encode())[0].text for line in lines)
    text = next(texts)
    for name, frame in _FRAMES.items():
        if first := frame.match(text):
            more = sum(frame.match(below) is not None for below in texts)
            return (name, first["function"]) if more + 1 >= ENOUGH else None
    return None


def _prefix(parser: LineParser, line: Line) -> str:
    return line.text.removesuffix(parser.pieces_at(line.number, line.text.encode())[0].text)


def _with_head(head: str, prefix: str, stack: list[Line], match: Match, *, torn: bool) -> Candidate:
    """What the scan would have found, had the ``head`` of this ``stack`` been there with its lines' ``prefix``."""
    raw = f"{prefix}{head}".encode()
    below = [line.text.encode() for line in stack]
    if torn:
        below[0] = f'{prefix}  File "{stack[0].text}'.encode()
    return Candidate(raw, stack[0].number - 1, tuple(match(raw)), lambda: iter(below))

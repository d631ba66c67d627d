"""Stack traces whose first line is missing.

Such a log is an excerpt, was rotated, or comes from ``tail -n``.
The scan finds a trace by its first line, so it overlooks these.  A Python traceback gets its first line back and is
then read as usual.  Other stacks become a record of the kind ``crash.frames``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from logdoctor.frames import SOURCE, read_frame
from logdoctor.logs.line_parser import LineParser
from logdoctor.logs.record_pattern import MAX_MULTILINE_LINES
from logdoctor.model import Candidate, Line, Record
from logdoctor.pack.regexes import later

MAX_EXCERPTS = 8
"""Look below at most this many marks of omitted lines (``...``)."""
MAX_LINES_ABOVE, MAX_BOX_LINES_ABOVE = 3, 9
"""Allow this many lines above the first whole frame, the rest of the frame before. Boxed frames are longer."""
PLAIN_HEAD, BOX_HEAD = "Traceback (most recent call last):", "╭─ Traceback (most recent call last) ─╮"
_FRAME = later(r'\s*File "[^"]{1,500}", line \d+(?:, in |,? ?(?:in?)?\s*$)')
"""Frame of a traceback, whole or broken before the function by a narrow terminal."""
_TORN = later(r'[^"]{0,500}", line \d+, in \S')
"""Frame whose beginning is missing."""
_TORN_HEAD = later(r"[a-z]{0,8} ?\(?(?:most )?recent call last\)?:\s*$")
_BOX_LINE = later(r"│(?: [ ❱]? {0,6}\d+ │.*| {0,6}(?:\d+)? +│?)\s*$")
"""Source line of a boxed traceback, or an empty line of the box."""
_BOX_FRAME = later(r"│ \S[^│]{1,300}(?:\.pyx?:\d+ +│|:\d+ in(?: \S+| +│))")
_STACKS = {
    "native": "a native stack",
    "pytorch": "a C++ exception's stack",
    "julia": "a stack of Julia",
    "java": "a stack of Java",
    "go": "a stack of Go",
    "kernel": "a stack of the kernel",
    "dump": "a dump of Python's stacks",
}
"""Stacks by the shape of their frames."""
_OTHERS = {
    "MPICH's error stack": later(r"(?P<function>P?MPI[A-Z]{0,3}_\w{2,60})\(\d{1,5}\)\.* ?:"),
    "the memory map below a crash": later(
        r"(?P<function>[0-9a-f]{6,16}-[0-9a-f]{6,16}) [r-][w-][x-][ps] [0-9a-f]{8,16} "
    ),
}
"""Lines of other blocks of a failure, which begin above the log too."""
MIN_FRAMES, FRAME_WINDOW = 2, 8
"""Take `MIN_FRAMES` such frames among `FRAME_WINDOW` lines for a stack."""
_HEAD_WORDS = "most recent call"
"""Words of a first line of a stack. A stack that has one is found by the scan."""
_OMISSION = later(r"\W{0,3}(?:\.{3,}|…+|(?:snip|omitted|truncated|省略)\W*)\W{0,3}$")
"""Mark that people put into an excerpt where they left lines out."""
Search = Callable[[bytes], Sequence[int]]
"""Return the ids of the patterns that match a line, as the scan does."""


def find_headless_trace(file: str, lines: Iterable[Line], search: Search, order: int = 0) -> Iterator[Record]:
    """Find the trace within which a log, or an excerpt, begins."""
    first = [line for line in islice(lines, MAX_MULTILINE_LINES) if line.text.strip()]
    starts = [0, *(at + 1 for at, line in enumerate(first) if _OMISSION.match(line.text))]
    for start in starts[: MAX_EXCERPTS + 1]:
        if records := [*_read_trace(file, first[start:], search, order)]:
            yield from records
            return


def _read_trace(file: str, lines: list[Line], search: Search, order: int) -> Iterator[Record]:
    """Read the trace whose first line is missing above ``lines``, if any."""
    parser = LineParser(file)
    if lines and _TORN_HEAD.match(lines[0].text):
        lines = lines[1:]
    boxed = bool(lines) and _BOX_LINE.match(lines[0].text) is not None
    for at, line in enumerate(lines[: (MAX_BOX_LINES_ABOVE if boxed else MAX_LINES_ABOVE) + 1]):
        piece = parser.read_pieces(line.number, line.text.encode())[0]
        if _HEAD_WORDS in piece.text:
            return
        if frames := _find_frames(parser, lines[at : at + FRAME_WINDOW]):
            text = f"The later lines of {frames[0]}, without its head: {frames[1]}"
            yield Record(line, "crash", "crash.frames", text, parser.build_source(piece.labels), "error", order=order)
            return
        head = BOX_HEAD if _BOX_FRAME.match(piece.text) else PLAIN_HEAD
        torn = at == 0 and _TORN.match(piece.text) is not None
        if head == BOX_HEAD or torn or _FRAME.match(piece.text):
            intact = lines[min(at + torn, len(lines) - 1)]
            candidate = _add_head(head, _prefix_of(parser, intact), lines[at:], search, torn=torn)
            printed = dict(enumerate(lines[at:], line.number))  # the parser numbers them without the empty lines
            for record in LineParser(file, search, order - 1).parse(candidate):
                yield replace(record, line=printed.get(record.line.number, line), lines=())
            return
        if not (_BOX_LINE if boxed else SOURCE).match(piece.text):
            return


def _find_frames(parser: LineParser, lines: Sequence[Line]) -> tuple[str, str] | None:
    """Return the kind of stack, and the function of its first frame.

    The first line must be a frame, and `MIN_FRAMES` of the lines in all.
    """
    found = [_read_frame(parser.read_pieces(line.number, line.text.encode())[0].text) for line in lines]
    first = found[0]
    alike = sum(frame is not None and first is not None and frame[0] == first[0] for frame in found)
    return first if alike >= MIN_FRAMES else None


def _read_frame(text: str) -> tuple[str, str] | None:
    frame = read_frame(text)
    if frame is not None and frame.shape in _STACKS:
        return _STACKS[frame.shape], frame.function or frame.place
    matches = ((name, shape.match(text)) for name, shape in _OTHERS.items())
    return next(((name, match["function"]) for name, match in matches if match), None)


def _prefix_of(parser: LineParser, line: Line) -> str:
    return line.text.removesuffix(parser.read_pieces(line.number, line.text.encode())[0].text)


def _add_head(head: str, prefix: str, stack: list[Line], search: Search, *, torn: bool) -> Candidate:
    """Return the candidate that the scan would find with the head."""
    raw = f"{prefix}{head}".encode()
    below = [line.text.encode() for line in stack]
    if torn:
        below[0] = f'{prefix}  File "{stack[0].text}'.encode()
    return Candidate(raw, stack[0].number - 1, tuple(search(raw)), lambda: iter(below))

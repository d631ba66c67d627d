"""Python tracebacks: the interpreter's, exception groups, rich's boxes and notebook frames.

`python_exceptions` reads the lines below the frames. A traceback is often torn. Other processes print between its
lines, and its head or end may be missing. So the reader skips foreign lines and takes the first exception line below
the frames.

Sources: CPython `Lib/traceback.py` and `Python/traceback.c` (3.6 to 3.14), `rich/traceback.py`, IPython `ultratb.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.frames import PYTHON
from logdoctor.logs.multiline.python.after import continues_working, is_caught
from logdoctor.logs.multiline.python.exceptions import (
    EXCEPTION_LINE,
    HEAD,
    add_exception,
    read_exception_line,
    read_message_lines,
)
from logdoctor.logs.multiline.python.reading import Lines, Traceback
from logdoctor.logs.multiline.unknown_prefixes import has_prefix, remove_prefix
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import compiled, later

MAX_NOISE = 25
"""Foreign lines between its frames after which a traceback counts as cut."""

_TORN_FRAME = later(r'\s{2,}F(?:i(?:l(?:e(?: "[^"]*"?)?)?)?)?(?:, l[^:]{0,20})?$')
"""The last line of a paste that ends inside a frame."""
_FLAT_FRAME = later(r'File ["“”](?P<path>[^"“”]*)["“”], line (?P<line>\d+)(?:, in (?P<function><?[\w.]+>?))?')
_BOX_FRAME = later(r"(?P<path>[^\s:]*):(?P<line>\d+)(?: in(?: (?P<function>\S+))?)?\s*$")
_CELL_FRAME = later(
    r"(?:File )?(?P<path>~?/[^\s:]+|<[\w-]+>|Cell In ?\[\d+\])(?::(?P<line>\d+)"
    r"|, line \d+)?,? in (?P<function>[\w<>.]+)"
)
_QUOTED_RANK = later(r":? ?\(RANK (?P<rank>\d{1,7})\)")
"""A distributed checkpoint quotes another rank's exception (`torch/distributed/checkpoint/api.py`)."""
_RULER = later(r"^\s*[|+](?:-\+-+.*$| ?)")
_BOX_LINE = later(r"^\s*[│|┃] ?(?P<inside>.*?)\s*[│|┃]?\s*$")
_NUMBERED = later(r"^\s*(?:❱|>|[-]+>)?\s*\d+ ")
_MARKED = later(r"^\s*❱\s*\d+ (?:[│|] {0,3})*(?P<code>.*)")
"""The current source line in a box, behind rich's rulers for the indentation."""


def read_traceback(head: Message, _: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read on from ``Traceback (most recent call last)``. A traceback without its end counts too."""
    head_match = HEAD.search(head.text)
    if head_match is None:
        return None
    if _is_box(head_match):
        return _read_box(head, below).close()
    name = head_match["prefix"].strip()
    if _FLAT_FRAME.match(head_match["rest"].lstrip(": ")):
        return _read_flat(head, head_match["rest"], head_match).close()
    if compiled(r"[A-Z]\w+").fullmatch(name) and not head_match["rest"].startswith(":"):
        return _read_cell(head, name, below).close()
    traceback = _read_plain(head, head_match["prefix"], below)
    if name.strip("|+ ") and "%|" not in name:
        traceback.fields["context"] = name[-600:]
    if rank_match := _QUOTED_RANK.match(head_match["rest"]):
        traceback.fields |= number_fields(rank_match.groupdict())
    return None if _is_signal_stack(traceback) else traceback.close()


def _is_signal_stack(traceback: Traceback) -> bool:
    """Return True for the C++ stack of Paddle's signal handler.

    The handler prints it as a traceback.
    """
    return any("` is detected by the operating system" in line for line in traceback.lines[:1])


def _is_box(head_match: regex.Match[str]) -> bool:
    return any(mark in head_match["prefix"] for mark in ("─", "━", "---")) or "─" in head_match["rest"]


def _read_flat(head: Message, rest: str, head_match: regex.Match[str]) -> Traceback:
    """Read a traceback on one line: frames and exception."""
    traceback, end = Traceback(level=head.source.level), 0
    for frame in _FLAT_FRAME.finditer(rest):
        traceback.add_frame(frame["path"], frame["line"], frame["function"] or "")
        end = frame.end()
    if exception_match := EXCEPTION_LINE.search(rest, end):
        add_exception(traceback, exception_match, Message(exception_match[0], head.source, head.below))
    traceback.taken.clear()  # the head's own line
    traceback.fields["context"] = head_match["prefix"].strip()[-600:]
    return traceback


# ── the interpreter's tracebacks ──────────────────────────────────────────────────────────────────────────────────────


def _read_plain(head: Message, prefix: str, below: Iterator[Message]) -> Traceback:
    traceback = Traceback(level=head.source.level)
    grouped = bool(prefix.strip()) and not prefix.strip("|+ ")  # other prefixes that end in a bar are a collector's
    lines = (_without_ruler(line) for line in below) if grouped else _without_prefix(prefix, below)
    indent = 0 if grouped or prefix.strip() else len(prefix)
    first = _read_frames(traceback, lines, indent)
    if first is not None:
        traceback.is_relayed = traceback.is_relayed or (not traceback.frames and _is_relayed(first))
        further = Lines(lines)
        read_message_lines(traceback, first, further)
        further.push_back()
        if is_caught(traceback.frames) and not traceback.is_relayed and continues_working(further):
            traceback.fields["went_on"] = 1
    return traceback


def _without_ruler(line: Message) -> Message:
    return Message(_RULER.sub("", line.text, count=1), line.source, line.below)


def _without_prefix(prefix: str, below: Iterator[Message]) -> Iterator[Message]:
    """Yield the lines without the head's prefix if frames carry it.

    It is the prefix of a collector that no prefix pattern covers.
    """
    carries_prefix = False
    for line in below:
        if prefix.strip() and has_prefix(line, prefix):
            rest = remove_prefix(line, prefix)
            carries_prefix = carries_prefix or (PYTHON.match(rest.text) or _TORN_FRAME.match(rest.text)) is not None
            yield rest if carries_prefix else line
        else:
            yield line


def _read_frames(traceback: Traceback, lines: Iterator[Message], indent: int) -> Message | None:
    """Take frames and their source lines. Return the exception line, which is already added, or None."""
    noise, after_frame = 0, False
    for line in lines:
        frame = PYTHON.match(line.text)
        if frame:
            traceback.add_frame(frame["path"], frame["line"], frame["function"] or "")
            traceback.taken.append(line.below)
            traceback.is_relayed = traceback.is_relayed or _is_relayed(line)
            after_frame = True
        elif read_exception_line(traceback, line, indent, loose=after_frame):
            return line
        elif (traceback.frames and line.text.startswith(" " * (indent + 2))) or HEAD.match(line.text):
            traceback.taken.append(line.below)
            traceback.add_source(line.text, line.below)
        elif line.text.strip() and not _TORN_FRAME.match(line.text):
            after_frame = False
            noise += 1
            if noise > MAX_NOISE:
                return None
    traceback.is_cut = not noise
    return None


def _is_relayed(line: Message) -> bool:
    """Return True if a launcher or a collector passed this line on.

    A program that logs its own traceback prefixes the head only. Torch's logging prefixes each line, and what it logs
    at level info was caught.
    """
    logger = str(line.source.logger or "")
    return line.source.level == "info" and not logger.startswith(("torch/", "torch."))


# ── rich's boxes and notebook frames ──────────────────────────────────────────────────────────────────────────────────


def _read_box(head: Message, below: Iterator[Message]) -> Traceback:
    """Read a box of rich: frames ``path:line in function``. Long paths are broken before the colon."""
    traceback, path = Traceback(level=head.source.level), ""
    for line in below:
        text = line.text.strip()
        box_line = _BOX_LINE.match(text)
        if text[:1] in "╰└" or compiled(r"\+-{5,}\+?$").match(text):
            traceback.taken.append(line.below)
        elif box_line and text[:1] in "│|┃":
            traceback.taken.append(line.below)
            inside = box_line["inside"]
            frame = None if _NUMBERED.match(inside) else _BOX_FRAME.match(inside)
            if frame:
                traceback.add_frame(frame["path"] or path, frame["line"], frame["function"] or "")
            elif marked := _MARKED.match(inside):
                traceback.add_source(marked["code"], line.below)
            path = inside.strip() if inside.strip().startswith(("/", "~", ".")) else path
        elif text and read_exception_line(traceback, line, 0, loose=bool(traceback.frames)):
            read_message_lines(traceback, line, below)
            return traceback
    return traceback


def _read_cell(head: Message, name: str, below: Iterator[Message]) -> Traceback:
    """Read IPython's frames down to ``Type: message``. If the end is cut off, ``name`` is the type."""
    traceback = Traceback(level=head.source.level)
    for line in below:
        frame = _CELL_FRAME.match(line.text)
        if frame:
            traceback.add_frame(frame["path"], frame["line"] or "?", frame["function"])
            traceback.taken.append(line.below)
        elif traceback.frames and read_exception_line(traceback, line, 0, loose=False):
            read_message_lines(traceback, line, below)
            return traceback
        elif line.text[:1] in " -" or not line.text.strip():
            traceback.taken.append(line.below)
    traceback.fields["exception"], traceback.lines = name, [name]
    return traceback

"""Reads Python tracebacks: the interpreter's, exception groups, rich's boxes and notebook frames.

What follows the frames is read by `python_exceptions`.
Shapes: CPython `Lib/traceback.py` and `Python/traceback.c` (3.6 to 3.14), `rich/traceback.py`, IPython `ultratb.py`.
A traceback is often torn: other processes print between its lines, its head or its end may be missing.  So the reader
skips what is no part of it and takes the first exception line that follows frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.model import Value
from logdoctor.parsers.blocks.python_after import caught_within, went_on
from logdoctor.parsers.blocks.python_exceptions import (
    EXCEPTION_LINE,
    FRAME,
    HEAD,
    ends,
    note_exception,
    read_further,
)
from logdoctor.parsers.blocks.python_reading import Lines, Reading
from logdoctor.parsers.blocks.unknown_prefixes import bears, behind
from logdoctor.parsers.record import Bare, Block
from logdoctor.regexes import compiled, later

MAX_NOISE = 25
"""After so many foreign lines between its frames a traceback counts as cut."""

_TORN_FRAME = later(r'\s{2,}F(?:i(?:l(?:e(?: "[^"]*"?)?)?)?)?(?:, l[^:]{0,20})?$')
"""The last line of a paste that ends in a frame."""
_FLAT_FRAME = later(r'File ["“”](?P<path>[^"“”]*)["“”], line (?P<line>\d+)(?:, in (?P<function><?[\w.]+>?))?')
_BOX_FRAME = later(r"(?P<path>[^\s:]*):(?P<line>\d+)(?: in(?: (?P<function>\S+))?)?\s*$")
_CELL_FRAME = later(
    r"(?:File )?(?P<path>~?/[^\s:]+|<[\w-]+>|Cell In ?\[\d+\])(?::(?P<line>\d+)"
    r"|, line \d+)?,? in (?P<function>[\w<>.]+)"
)
_TOLD_OF = later(r":? ?\(RANK (?P<rank>\d{1,7})\)")
"""A distributed checkpoint's exception quotes that of another rank so (`torch/distributed/checkpoint/api.py`)."""
_RULER = later(r"^\s*[|+](?:-\+-+.*$| ?)")
_BOX_LINE = later(r"^\s*[│|┃] ?(?P<inside>.*?)\s*[│|┃]?\s*$")
_NUMBERED = later(r"^\s*(?:❱|>|[-]+>)?\s*\d+ ")
_MARKED = later(r"^\s*❱\s*\d+ (?:[│|] {0,3})*(?P<code>.*)")
"""The source line of a box at which the frame stands, behind rich's rulers for the indentation."""


def read_traceback(head: Bare, _: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read on from the line that says ``Traceback (most recent call last)``; a traceback without its end is one too."""
    found = HEAD.search(head.text)
    if found is None:
        return None
    if _is_box(found):
        return _read_box(head, below).close()
    name = found["prefix"].strip()
    if _FLAT_FRAME.match(found["rest"].lstrip(": ")):
        return _read_flat(head, found["rest"], found).close()
    if compiled(r"[A-Z]\w+").fullmatch(name) and not found["rest"].startswith(":"):
        return _read_cell(head, name, below).close()
    reading = _read_plain(head, found["prefix"], below)
    if name.strip("|+ ") and "%|" not in name:
        reading.fields["context"] = name[-600:]
    if told := _TOLD_OF.match(found["rest"]):
        reading.fields["rank"] = int(told["rank"])
    return None if _of_a_signal(reading) else reading.close()


def _of_a_signal(reading: Reading) -> bool:
    """Paddle's handler of signals draws its C++ stack as a traceback: what it caught is no exception."""
    return any("` is detected by the operating system" in line for line in reading.lines[:1])


def _is_box(found: regex.Match[str]) -> bool:
    return any(mark in found["prefix"] for mark in ("─", "━", "---")) or "─" in found["rest"]


def _read_flat(head: Bare, rest: str, found: regex.Match[str]) -> Reading:
    """Read a traceback that a service put on one line: its frames, and the exception behind the last of them."""
    reading, end = Reading(level=head.speaker.level), 0
    for frame in _FLAT_FRAME.finditer(rest):
        reading.add_frame(frame["path"], frame["line"], frame["function"] or "")
        end = frame.end()
    if last := EXCEPTION_LINE.search(rest, end):
        note_exception(reading, last, Bare(last[0], head.speaker, head.below))
    reading.taken.clear()  # the head's own line
    reading.fields["context"] = found["prefix"].strip()[-600:]
    return reading


# ── the interpreter's own shape ─────────────────────────────────────────────────────────────────────────────────────


def _read_plain(head: Bare, prefix: str, below: Iterator[Bare]) -> Reading:
    reading = Reading(level=head.speaker.level)
    grouped = bool(prefix.strip()) and not prefix.strip("|+ ")  # else a collector's prefix that ends in a bar
    lines = (_without_ruler(bare) for bare in below) if grouped else _without_prefix(prefix, below)
    indent = 0 if grouped or prefix.strip() else len(prefix)
    first = _read_frames(reading, lines, indent)
    if first is not None:
        reading.relayed = reading.relayed or (not reading.frames and _relayed(first))
        further = Lines(lines)
        read_further(reading, first, further)
        further.back()
        if caught_within(reading.frames) and not reading.relayed and went_on(further):
            reading.fields["went_on"] = 1
    return reading


def _without_ruler(bare: Bare) -> Bare:
    return Bare(_RULER.sub("", bare.text, count=1), bare.speaker, bare.below)


def _without_prefix(prefix: str, below: Iterator[Bare]) -> Iterator[Bare]:
    """The lines without what stands before the head, where frames bear it too: a collector that no wrapper knows."""
    borne = False
    for bare in below:
        if prefix.strip() and bears(bare, prefix):
            rest = behind(bare, prefix)
            borne = borne or (FRAME.match(rest.text) or _TORN_FRAME.match(rest.text)) is not None
            yield rest if borne else bare
        else:
            yield bare


def _read_frames(reading: Reading, lines: Iterator[Bare], indent: int) -> Bare | None:
    """Take frames and their source lines; gives the exception line (already noted in ``reading``) or None."""
    noise, after_frame = 0, False
    for bare in lines:
        frame = FRAME.match(bare.text)
        if frame:
            reading.add_frame(frame["path"], frame["line"], frame["function"] or "")
            reading.taken.append(bare.below)
            reading.relayed = reading.relayed or _relayed(bare)
            after_frame = True
        elif ends(reading, bare, indent, loose=after_frame):
            return bare
        elif (reading.frames and bare.text.startswith(" " * (indent + 2))) or HEAD.match(bare.text):
            reading.taken.append(bare.below)
            reading.note_source(bare.text, bare.below)
        elif bare.text.strip() and not _TORN_FRAME.match(bare.text):
            after_frame = False
            noise += 1
            if noise > MAX_NOISE:
                return None
    reading.cut = not noise
    return None


def _relayed(line: Bare) -> bool:
    """Whether a launcher's logger or a collector passed this line on.

    One that logs a traceback of its own prefixes the head only.  Torch's own logging puts its prefix before each line,
    and what it tells at this level it has caught.
    """
    source = str(line.speaker.source or "")
    return line.speaker.level == "info" and not source.startswith(("torch/", "torch."))


# ── rich's box and the notebook ─────────────────────────────────────────────────────────────────────────────────────


def _read_box(head: Bare, below: Iterator[Bare]) -> Reading:
    """Read a box drawn by rich: frames as ``path:line in function``, long paths broken before the colon."""
    reading, path = Reading(level=head.speaker.level), ""
    for bare in below:
        text = bare.text.strip()
        line = _BOX_LINE.match(text)
        if text[:1] in "╰└" or compiled(r"\+-{5,}\+?$").match(text):
            reading.taken.append(bare.below)
        elif line and text[:1] in "│|┃":
            reading.taken.append(bare.below)
            inside = line["inside"]
            frame = None if _NUMBERED.match(inside) else _BOX_FRAME.match(inside)
            if frame:
                reading.add_frame(frame["path"] or path, frame["line"], frame["function"] or "")
            elif marked := _MARKED.match(inside):
                reading.note_source(marked["code"], bare.below)
            path = inside.strip() if inside.strip().startswith(("/", "~", ".")) else path
        elif text and ends(reading, bare, 0, loose=bool(reading.frames)):
            read_further(reading, bare, below)
            return reading
    return reading


def _read_cell(head: Bare, name: str, below: Iterator[Bare]) -> Reading:
    """Read IPython's frames down to ``Type: message``; the head's ``name`` is the type, should the end be cut off."""
    reading = Reading(level=head.speaker.level)
    for bare in below:
        frame = _CELL_FRAME.match(bare.text)
        if frame:
            reading.add_frame(frame["path"], frame["line"] or "?", frame["function"])
            reading.taken.append(bare.below)
        elif reading.frames and ends(reading, bare, 0, loose=False):
            read_further(reading, bare, below)
            return reading
        elif bare.text[:1] in " -" or not bare.text.strip():
            reading.taken.append(bare.below)
    reading.fields["exception"], reading.lines = name, [name]
    return reading

"""Lines that Python prints around a traceback.

They are chains, ignored exceptions, threads, child processes, and errors of logging. They decide the level of the
traceback below. An ignored exception, or an exception in a thread, does not end the process.

Sources: CPython `Lib/traceback.py`, `Lib/threading.py`, `Lib/logging/__init__.py`, `Lib/multiprocessing/process.py`,
`Lib/asyncio`, `Modules/atexitmodule.c`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from msgspec.structs import replace

from logdoctor.logs.multiline.python.exceptions import EXCEPTION
from logdoctor.logs.multiline.python.reading import Lines
from logdoctor.logs.multiline.python.tracebacks import read_traceback
from logdoctor.logs.record_pattern import Message, Multiline, MultilineReader
from logdoctor.model import Level, Value
from logdoctor.pack.regexes import later

MAX_GAP = 6
"""Most lines between the line that announces a traceback and the traceback."""

_HEAD = later(r"Traceback \(most recent call last\)")
_EXCEPTION = later(EXCEPTION)
_LINK = later(r"\s*(?:During handling of the above exception, another|The above exception was the direct cause of)")


def traceback_reader(level: Level | None = None, **fields: Value) -> MultilineReader:
    """Return a reader for a line above a traceback. It adds ``level`` and ``fields`` to the traceback."""

    def read(_head: Message, head_fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
        lines = Lines(below)
        between, start = _find_head(lines)
        if start is None:
            return None
        multiline = read_traceback(start, head_fields, lines)
        if multiline is None:
            return None
        if fields.get("caught"):
            multiline = _add_chain(multiline, lines)
        return replace(
            multiline,
            fields={**multiline.fields, **fields},
            taken=(*between, start.below, *multiline.taken),
            evidence=multiline.evidence or start.below,
            level=level or multiline.level,
        )

    return read


def _add_chain(multiline: Multiline, lines: Lines) -> Multiline:
    """Add the chained tracebacks that follow to the record.

    The handler that caught an exception also caught its chain.
    """
    while lines.last is not None:
        if lines.last.below not in multiline.taken:
            lines.push_back()
        link = next((line for line in lines if line.text.strip()), None)
        if link is None or not _LINK.match(link.text):
            break
        between, start = _find_head(lines)
        more = read_traceback(start, {}, lines) if start else None
        if start is None or more is None:
            break
        taken = (*multiline.taken, link.below, *between, start.below, *more.taken)
        multiline = replace(multiline, text=f"{multiline.text}\n{more.text}", taken=taken)
    return multiline


def _find_head(below: Iterator[Message]) -> tuple[list[int], Message | None]:
    between: list[int] = []
    for line in below:
        if _HEAD.search(line.text):
            return between, line
        if _EXCEPTION.match(line.text) or len(between) >= MAX_GAP:
            break
        between.append(line.below)
    return [], None


def read_ignored(head: Message, head_fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read ``Exception ignored in``. Python up to 3.7 prints the exception without a traceback."""
    first = next(below, None)
    if first is not None and _EXCEPTION.match(first.text):
        fields: dict[str, Value] = {"caught": 1, "exception": first.text.partition(":")[0]}
        return Multiline(f"{head.text}\n{first.text}", fields, (first.below,))
    lines = below if first is None else chain([first], below)
    multiline = traceback_reader("warning", caught=1)(head, head_fields, lines)
    return multiline or Multiline(head.text, {"caught": 1, "exception": ""}, ())


def read_hook(head: Message, head_fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read ``Error in sys.excepthook``.

    The program has ended. The exception that ended it follows, unless the log breaks off.
    """
    multiline = traceback_reader("warning", caught=1)(head, head_fields, below)
    return multiline if multiline is None or multiline.fields["exception"] else replace(multiline, level="error")

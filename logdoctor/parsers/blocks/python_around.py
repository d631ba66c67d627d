"""Reads what Python prints around a traceback: chains, ignored exceptions, threads, child processes, log noise.

These lines tell what the traceback below them is worth: an ignored exception or one that a thread met does not end the
process.  Sources: CPython `Lib/traceback.py`, `Lib/threading.py`, `Lib/logging/__init__.py`,
`Lib/multiprocessing/process.py`, `Lib/asyncio`, `Modules/atexitmodule.c`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from msgspec.structs import replace

from logdoctor.model import Level, Value
from logdoctor.parsers.blocks.python_exceptions import EXCEPTION
from logdoctor.parsers.blocks.python_reading import Lines
from logdoctor.parsers.blocks.python_tracebacks import read_traceback
from logdoctor.parsers.record import Bare, Block, BlockReader
from logdoctor.regexes import later

MAX_GAP = 6
"""A traceback follows the line that speaks of it within so many lines."""

_HEAD = later(r"Traceback \(most recent call last\)")
_EXCEPTION = later(EXCEPTION)
_LINK = later(r"\s*(?:During handling of the above exception, another|The above exception was the direct cause of)")


def reader(level: Level | None = None, **fields: Value) -> BlockReader:
    """A block reader for a line that announces a traceback; ``level`` and ``fields`` are added to what is read."""

    def read(_head: Bare, found: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
        lines = Lines(below)
        between, start = _find_head(lines)
        if start is None:
            return None
        block = read_traceback(start, found, lines)
        if block is None:
            return None
        if fields.get("caught"):
            block = _with_chain(block, lines)
        return replace(
            block,
            fields={**block.fields, **fields},
            taken=(*between, start.below, *block.taken),
            evidence=block.evidence or start.below,
            level=level or block.level,
        )

    return read


def _with_chain(block: Block, lines: Lines) -> Block:
    """What was caught was caught with its chain: the tracebacks that follow it belong to the same record."""
    while lines.last is not None:
        if lines.last.below not in block.taken:
            lines.back()
        link = next((bare for bare in lines if bare.text.strip()), None)
        if link is None or not _LINK.match(link.text):
            break
        between, start = _find_head(lines)
        more = read_traceback(start, {}, lines) if start else None
        if start is None or more is None:
            break
        taken = (*block.taken, link.below, *between, start.below, *more.taken)
        block = replace(block, text=f"{block.text}\n{more.text}", taken=taken)
    return block


def _find_head(below: Iterator[Bare]) -> tuple[list[int], Bare | None]:
    between: list[int] = []
    for bare in below:
        if _HEAD.search(bare.text):
            return between, bare
        if _EXCEPTION.match(bare.text) or len(between) >= MAX_GAP:
            break
        between.append(bare.below)
    return [], None


def read_ignored(head: Bare, found: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """Read an ``Exception ignored in`` record; Python up to 3.7 prints no traceback but the exception alone."""
    first = next(below, None)
    if first is not None and _EXCEPTION.match(first.text):
        fields: dict[str, Value] = {"caught": 1, "exception": first.text.partition(":")[0]}
        return Block(f"{head.text}\n{first.text}", fields, (first.below,))
    again = below if first is None else chain([first], below)
    block = reader("warning", caught=1)(head, found, again)
    return block or Block(head.text, {"caught": 1, "exception": ""}, ())


def read_hook(head: Bare, found: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read ``Error in sys.excepthook``: the program has ended, and what ended it follows, unless the log breaks off."""
    block = reader("warning", caught=1)(head, found, below)
    return block if block is None or block.fields["exception"] else replace(block, level="error")

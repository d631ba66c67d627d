"""What all dialects know, as plain data: a log speaks few of them, and their code is imported when a line needs it.

Importing seventy files takes a tenth of the time of a diagnosis, reading what they say a hundredth.  So it is kept,
under a key of the parsers' files.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from logdoctor import cached_files
from logdoctor.cached_files import Stamp
from logdoctor.model import Meaning, Value
from logdoctor.parsers.record import Bare, Block, Meanings, Record
from logdoctor.version import __version__

FORMAT = 1
"""Raise it when the shape of what is kept changes."""


class Grammar(Struct, frozen=True):
    """The records of all dialects, in the order of the dialects' names, and what their kinds mean."""

    records: tuple[Record, ...]
    meanings: Meanings


@cache
def read_grammar() -> Grammar:
    """What all dialects know."""
    file = _file()
    known = _kept(file) if file else None
    if known is not None:
        return known
    if file and stamp().settled:
        cached_files.write(file, msgspec.msgpack.encode(_as_data()))
    return _imported()


@cache
def dialect_modules() -> tuple[ModuleType, ...]:
    """The files of all dialects, in the order of their names."""
    from logdoctor.parsers import dialects

    names = sorted(m.name for m in pkgutil.iter_modules(dialects.__path__))
    return tuple(importlib.import_module(f"{dialects.__name__}.{name}") for name in names)


@cache
def stamp() -> Stamp:
    """The stamp of all parsers' files, as they were when it was first asked for."""
    return cached_files.stamp(Path(__file__).parent)


def _imported() -> Grammar:
    modules = dialect_modules()
    return Grammar(
        tuple(record for module in modules for record in module.RECORDS),
        {kind: means for module in modules for kind, means in getattr(module, "MEANS", {}).items()},
    )


# ── the same, kept as data ──────────────────────────────────────────────────────────────────────────────────────────


class _Kept(Struct):
    """The fields of each record, a reader of blocks as the arguments of its `_Reader`."""

    records: list[list[Any]]
    meanings: dict[str, tuple[Meaning, ...]]


class _Reader(Struct, frozen=True):
    """A reader of blocks that is imported when there is something to read."""

    dialect: str
    place: int

    def __call__(self, head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
        """See `BlockReader`."""
        read: Block | None = importlib.import_module(self.dialect).RECORDS[self.place].block(head, fields, below)
        return read


_BLOCK = Record.__struct_fields__.index("block")


def _as_data() -> _Kept:
    rows = list[list[Any]]()
    for module in dialect_modules():
        for place, record in enumerate(module.RECORDS):
            row = [*astuple(record)]
            row[_BLOCK] = (module.__name__, place) if record.block else None
            rows.append(row)
    return _Kept(rows, dict(_imported().meanings))


def _kept(file: Path) -> Grammar | None:
    try:
        found = msgspec.msgpack.decode(cached_files.read(file) or b"", type=_Kept)
    except ValueError:
        return None
    for row in found.records:
        if row[_BLOCK]:
            row[_BLOCK] = _Reader(*row[_BLOCK])
    return Grammar(tuple([Record(*row) for row in found.records]), found.meanings)


def _file() -> Path | None:
    folder = cached_files.folder()
    return folder / f"grammar-{__version__}-{FORMAT}-{stamp().digest}.msgpack" if folder else None

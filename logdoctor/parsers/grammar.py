"""Record patterns of all formats, cached as plain data.

To import the 70 format files takes a tenth of the time of a diagnosis, to read the cached table a hundredth.  The code
of a format is imported only when one of its multi-line records is read.  The cache key is a digest of the parser files.
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

CACHE_VERSION = 1
"""Increase this number when the layout of the cache changes."""


class Grammar(Struct, frozen=True):
    """Record patterns and lifecycle signs, in order of the format names."""

    records: tuple[Record, ...]
    meanings: Meanings


@cache
def read_grammar() -> Grammar:
    """Return the table of all formats, from the cache if possible."""
    file = _cache_file()
    cached = _read_cache(file) if file else None
    if cached is not None:
        return cached
    if file and stamp().settled:
        cached_files.write(file, msgspec.msgpack.encode(_to_table()))
    return _import_table()


@cache
def dialect_modules() -> tuple[ModuleType, ...]:
    """Import all formats, in the order of their names."""
    from logdoctor.parsers import dialects

    names = sorted(m.name for m in pkgutil.iter_modules(dialects.__path__))
    return tuple(importlib.import_module(f"{dialects.__name__}.{name}") for name in names)


@cache
def stamp() -> Stamp:
    """Return the stamp of the parser files at the first call."""
    return cached_files.stamp(Path(__file__).parent)


def _import_table() -> Grammar:
    modules = dialect_modules()
    return Grammar(
        tuple(record for module in modules for record in module.RECORDS),
        {kind: means for module in modules for kind, means in getattr(module, "MEANS", {}).items()},
    )


# ── the cache ───────────────────────────────────────────────────────────────────────────────────────────────────────


class _CachedTable(Struct):
    """Fields of each record pattern, with the arguments of its `_Reader`."""

    records: list[list[Any]]
    meanings: dict[str, tuple[Meaning, ...]]


class _Reader(Struct, frozen=True):
    """Reader of a multi-line record, imported when it is called first."""

    module: str
    index: int

    def __call__(self, head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
        block: Block | None = importlib.import_module(self.module).RECORDS[self.index].block(head, fields, below)
        return block


_BLOCK = Record.__struct_fields__.index("block")


def _to_table() -> _CachedTable:
    rows = list[list[Any]]()
    for module in dialect_modules():
        for index, record in enumerate(module.RECORDS):
            row = [*astuple(record)]
            row[_BLOCK] = (module.__name__, index) if record.block else None
            rows.append(row)
    return _CachedTable(rows, dict(_import_table().meanings))


def _read_cache(file: Path) -> Grammar | None:
    try:
        table = msgspec.msgpack.decode(cached_files.read(file) or b"", type=_CachedTable)
    except ValueError:
        return None
    for row in table.records:
        if row[_BLOCK]:
            row[_BLOCK] = _Reader(*row[_BLOCK])
    return Grammar(tuple([Record(*row) for row in table.records]), table.meanings)


def _cache_file() -> Path | None:
    folder = cached_files.folder()
    return folder / f"grammar-{__version__}-{CACHE_VERSION}-{stamp().digest}.msgpack" if folder else None

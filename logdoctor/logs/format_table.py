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

from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import LifecycleSign, Value
from logdoctor.model.version import __version__
from logdoctor.pack import cached_files
from logdoctor.pack.cached_files import Stamp

CACHE_VERSION = 1
"""Increase this number when the layout of the cache changes."""


class FormatTable(Struct, frozen=True):
    """Record patterns and lifecycle signs, in order of the format names."""

    record_patterns: tuple[RecordPattern, ...]
    lifecycle_signs: LifecycleSigns


@cache
def read_format_table() -> FormatTable:
    """Return the table of all formats, from the cache if possible."""
    file = _cache_file()
    cached = _read_cache(file) if file else None
    if cached is not None:
        return cached
    if file and stamp().settled:
        cached_files.write(file, msgspec.msgpack.encode(_to_table()))
    return _import_table()


@cache
def format_modules() -> tuple[ModuleType, ...]:
    """Import all formats, in the order of their names."""
    from logdoctor.logs import formats

    found = pkgutil.walk_packages(formats.__path__, f"{formats.__name__}.")
    names = sorted((m.name for m in found if not m.ispkg), key=lambda name: name.rpartition(".")[2])
    return tuple(map(importlib.import_module, names))


@cache
def stamp() -> Stamp:
    """Return the stamp of the parser files at the first call."""
    return cached_files.stamp(Path(__file__).parent)


def _import_table() -> FormatTable:
    modules = format_modules()
    return FormatTable(
        tuple(record for module in modules for record in module.RECORDS),
        {kind: signs for module in modules for kind, signs in getattr(module, "SIGNS", {}).items()},
    )


# ── the cache ───────────────────────────────────────────────────────────────────────────────────────────────────────


class _CachedTable(Struct):
    """Fields of each record pattern, with the arguments of its `_Reader`."""

    record_patterns: list[list[Any]]
    lifecycle_signs: dict[str, tuple[LifecycleSign, ...]]


class _Reader(Struct, frozen=True):
    """Reader of a multi-line record, imported when it is called first."""

    module: str
    index: int

    def __call__(self, head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
        multiline: Multiline | None = (
            importlib.import_module(self.module).RECORDS[self.index].read_lines(head, fields, below)
        )
        return multiline


_BLOCK = RecordPattern.__struct_fields__.index("read_lines")


def _to_table() -> _CachedTable:
    rows = list[list[Any]]()
    for module in format_modules():
        for index, record in enumerate(module.RECORDS):
            row = [*astuple(record)]
            row[_BLOCK] = (module.__name__, index) if record.read_lines else None
            rows.append(row)
    return _CachedTable(rows, dict(_import_table().lifecycle_signs))


def _read_cache(file: Path) -> FormatTable | None:
    try:
        table = msgspec.msgpack.decode(cached_files.read(file) or b"", type=_CachedTable)
    except ValueError:
        return None
    for row in table.record_patterns:
        if row[_BLOCK]:
            row[_BLOCK] = _Reader(*row[_BLOCK])
    return FormatTable(tuple([RecordPattern(*row) for row in table.record_patterns]), table.lifecycle_signs)


def _cache_file() -> Path | None:
    folder = cached_files.folder()
    return folder / f"grammar-{__version__}-{CACHE_VERSION}-{stamp().digest}.msgpack" if folder else None

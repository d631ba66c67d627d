"""Record patterns, lifecycle signs and prefixes of all formats, cached as plain data.

To read all YAML files takes longer than most diagnoses.  The cache key is a digest of the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from logdoctor.logs.record_pattern import LifecycleSigns, Prefix, RecordPattern
from logdoctor.model import Origin
from logdoctor.model.digests import blake2b
from logdoctor.pack import cached_files, shipped
from logdoctor.pack.cached_files import Stamp
from logdoctor.version import __version__

TABLE = "formats"
CACHE_VERSION = 5
"""Increase this number when the layout of the cache changes."""
_SOURCES = (Path(__file__).parent, Path(__file__).parent.parent / "formats")


class FormatTable(Struct, frozen=True):
    """Record patterns in the order in which they are tried, the rest in that of the file names."""

    record_patterns: tuple[RecordPattern, ...]
    other_kinds: tuple[str, ...]
    lifecycle_signs: LifecycleSigns
    prefixes: tuple[Prefix, ...]
    origins: Mapping[str, Origin]
    file_names: tuple[str, ...]


@cache
def read_format_table() -> FormatTable:
    """Return the table of all formats, from the cache if possible."""
    table = shipped.table(TABLE, FormatTable)
    return table or cached_files.keep(_cache_file(), _decode, _compile)


def compile_format_table() -> FormatTable:
    """Read all format files.  Raise `RulesError` with their faults."""
    from logdoctor.logs.format_files import load_formats
    from logdoctor.logs.precedence import in_order

    formats = load_formats()
    return FormatTable(
        in_order([file.records for file in formats]),
        tuple(kind for file in formats for kind in file.other_kinds),
        {kind: signs for file in formats for kind, signs in file.lifecycle_signs.items()},
        tuple(prefix for file in formats for prefix in file.prefixes),
        {name: origin for file in formats for name, origin in file.origins.items()},
        tuple(word for file in formats for word in file.file_names),
    )


@cache
def stamp() -> Stamp:
    """Return the stamp of the format files and of the parser's modules at the first call."""
    stamps = [cached_files.stamp(folder) for folder in _SOURCES]
    digest = blake2b(" ".join(stamp.digest for stamp in stamps).encode(), digest_size=16).hexdigest()
    return Stamp(digest, max(stamp.newest for stamp in stamps))


def encode_format_table() -> bytes:
    """Return the compiled table as `read_format_table` reads it."""
    return msgspec.msgpack.encode(compile_format_table())


def _compile() -> tuple[FormatTable, bytes]:
    table = compile_format_table()
    return table, msgspec.msgpack.encode(table)


def _decode(data: bytes) -> FormatTable:
    return msgspec.msgpack.decode(data, type=FormatTable)


def _cache_file() -> Path | None:
    folder = cached_files.folder()
    name = f"formats-{__version__}-{CACHE_VERSION}-{stamp().digest}.msgpack"
    return folder / name if folder and stamp().settled else None

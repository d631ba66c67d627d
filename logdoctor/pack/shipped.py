"""Tables that were compiled when the wheel was built.

A wheel holds them in one file, packed, because an install may take 50 MB. A source tree has no such file; there each
table is made at first use and kept in the cache.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from logdoctor.model import LogdoctorError

Table = TypeVar("Table")
FILE = Path(__file__).resolve().parent.parent / "pack.bin"


def table(name: str, kind: type[Table]) -> Table | None:
    """Return a compiled table, None in a source tree. Raises `LogdoctorError` if the file is damaged."""
    try:
        raw = _tables().get(name)
        return None if raw is None else msgspec.msgpack.decode(raw, type=kind)
    except (msgspec.MsgspecError, zlib.error) as error:
        what = "the compiled formats and rules are damaged"
        raise LogdoctorError(what, str(FILE), str(error), "install logdoctor again") from error


@cache
def _tables() -> dict[str, msgspec.Raw]:
    try:
        data = FILE.read_bytes()
    except FileNotFoundError:
        return {}
    return msgspec.msgpack.decode(zlib.decompress(data), type=dict[str, msgspec.Raw])


def encode(tables: dict[str, bytes]) -> bytes:
    """Return the file's content."""
    return zlib.compress(msgspec.msgpack.encode({name: msgspec.Raw(data) for name, data in tables.items()}), 9)

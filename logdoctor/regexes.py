"""Regular expressions, compiled once a machine and not once a process.

The ``regex`` package compiles in Python, half a millisecond an expression: a crash log that needs a hundred of them
would spend more time on that than on everything else.  So whatever had to be compiled is kept for the next time, as
plain numbers: the arguments that the package's own pickle support (`copyreg`) gives for rebuilding an expression.
"""

from __future__ import annotations

import copyreg
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any, cast

import regex

from logdoctor import cached_files as files

MOST = 6000
"""So many expressions are kept, more than there are: beyond that most are of older versions, and all is begun anew."""

_new: dict[bytes, bytes] = {}
_bad: set[bytes] = set()
"""What is stored and cannot be rebuilt."""


@cache
def compiled(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """The expression, rebuilt from the store where it is known, else compiled.  Raises `regex.error`."""
    key = json.dumps([pattern, int(flags)]).encode()
    known = _found(_stored(), key)
    if known is not None:
        try:
            return cast("regex.Pattern[str]", _rebuild()[0](*json.loads(known, object_hook=_untagged)))
        except Exception:  # noqa: BLE001  damaged or of another version: compiling again cures it
            _bad.add(key)
    made = regex.compile(pattern, flags)
    _new[key] = _plain(made)
    return made


class _Later:
    """Stands for an expression until one of its methods is asked for."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._asked = pattern, flags

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(compiled(*self._asked), name)
        return value


def later(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """The same, compiled when it is first used: for the constants of modules."""
    return cast("regex.Pattern[str]", _Later(pattern, flags))


def keep() -> None:
    """Store what had to be compiled since the last time."""
    path = _file()
    if not _new or path is None:
        return
    kept = {key: made for key, made in _lines(files.read(path)).items() if key not in _bad}
    merged = {**kept, **_new} if len(kept) + len(_new) <= MOST else dict(_new)
    _new.clear()
    files.write(path, b"".join(key + b"\t" + made + b"\n" for key, made in sorted(merged.items())))


@cache
def _stored() -> bytes:
    path = _file()
    return (path and files.read(path)) or b""


def _found(data: bytes, key: bytes) -> bytes | None:
    """What stands beside ``key`` in sorted lines: looked up by halves, since most of thousands are never asked for."""
    low, high = 0, len(data)
    while low < high:
        start = data.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = data.find(b"\n", start, high)
        end = high if end < 0 else end
        here, _, made = data[start:end].partition(b"\t")
        if here == key:
            return made
        low, high = (end + 1, high) if here < key else (low, start)
    return None


def _lines(data: bytes | None) -> dict[bytes, bytes]:
    parted = (line.partition(b"\t") for line in data.split(b"\n") if line) if data else ()
    return {key: made for key, _, made in parted}


def _file() -> Path | None:
    folder = files.folder()
    version = (
        f"{regex.__version__}-{sys.version_info[0]}.{sys.version_info[1]}-{sys.byteorder}{sys.maxsize.bit_length()}"
    )
    return folder / f"expressions-{version}.json" if folder else None


@cache
def _rebuild() -> tuple[Any, Any]:
    """The function that rebuilds an expression, and the one that gives its arguments."""
    arguments = copyreg.dispatch_table[regex.Pattern]
    return cast("Any", arguments(regex.compile("a")))[0], arguments


def _plain(made: regex.Pattern[str]) -> bytes:
    return json.dumps(_to_plain(_rebuild()[1](made)[1]), separators=(",", ":")).encode()


def _to_plain(value: Any) -> Any:
    """Lists, texts and numbers; bytes, tuples and dictionaries are tagged."""
    if isinstance(value, bytes):
        return {"b": value.decode("latin-1")}
    if isinstance(value, tuple):
        return {"t": [_to_plain(v) for v in value]}
    if isinstance(value, list):
        return [_to_plain(v) for v in value]
    if isinstance(value, dict):
        return {"d": [[_to_plain(k), _to_plain(v)] for k, v in value.items()]}
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"an expression made of {type(value)}")


def _untagged(tagged: dict[str, Any]) -> Any:
    ((tag, inner),) = tagged.items()
    if tag == "b":
        return inner.encode("latin-1")
    return tuple(inner) if tag == "t" else {key: value for key, value in inner}  # noqa: C416

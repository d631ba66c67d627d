"""Regular expressions, compiled once a machine and not once a process.

The ``regex`` package compiles in Python, half a millisecond an expression: a crash log that needs a hundred of them
would spend more time on that than on everything else.  So whatever had to be compiled is kept for the next time, as
plain data (MessagePack): the arguments that the package's own pickle support (`copyreg`) gives for rebuilding one.
"""

from __future__ import annotations

import copyreg
import sys
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec
import regex

from logdoctor import cached_files
from logdoctor.cached_entries import CachedEntries, digest, write

MOST = 6000
"""So many expressions are kept, more than there are: beyond that most are of older versions, and all is begun anew."""

_REQUIRED = 8
"""The place of the characters that every match must hold."""

_new: dict[bytes, bytes] = {}
_bad: set[bytes] = set()
"""What is stored and cannot be rebuilt."""


@cache
def compiled(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """The expression, rebuilt from the store where it is known, else compiled.  Raises `regex.error`."""
    key = digest(f"{int(flags)} {pattern}")
    store = _store()
    known = store.get(key) if store else None
    if known is not None:
        try:
            return cast("regex.Pattern[str]", _rebuild()[0](*_as_given(msgspec.msgpack.decode(known))))
        except Exception:  # noqa: BLE001  damaged or of another version: compiling again cures it
            _bad.add(key)
    made = regex.compile(pattern, flags)
    _new[key] = msgspec.msgpack.encode(_rebuild()[1](made)[1])
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
    kept = {key: made for key, made in CachedEntries(path).all().items() if key not in _bad}
    write(path, {**kept, **_new} if len(kept) + len(_new) <= MOST else _new)
    _new.clear()


@cache
def _store() -> CachedEntries | None:
    path = _file()
    return CachedEntries(path) if path else None


def _file() -> Path | None:
    folder = cached_files.folder()
    version = (
        f"{regex.__version__}-{sys.version_info[0]}.{sys.version_info[1]}-{sys.byteorder}{sys.maxsize.bit_length()}"
    )
    return folder / f"expressions-{version}.entries" if folder else None


def _as_given(arguments: list[Any]) -> list[Any]:
    """The arguments with the tuple that the package gave: MessagePack reads a list.

    It holds the characters that every match must hold.  As a list they are silently left aside, and a search takes up
    to thirty times as long where there is no match (regex 2026.11.15).
    """
    return [*arguments[:_REQUIRED], tuple(arguments[_REQUIRED]), *arguments[_REQUIRED + 1 :]]


@cache
def _rebuild() -> tuple[Any, Any]:
    """The function that rebuilds an expression, and the one that gives its arguments."""
    arguments = copyreg.dispatch_table[regex.Pattern]
    return cast("Any", arguments(regex.compile("a")))[0], arguments

"""Regular expressions, compiled once per machine instead of once per process.

The ``regex`` package compiles in Python, which takes half a millisecond per expression.
A crash log that needs a hundred expressions would spend most of its time on that.
So compiled expressions are stored as plain data (MessagePack).
The data are the arguments by which the package's own pickle support (`copyreg`) rebuilds an expression.
"""

from __future__ import annotations

import copyreg
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec
import regex

from logdoctor.pack import cached_files

MAX_EXPRESSIONS = 6000
"""Stored expressions, more than exist. Beyond that most belong to older versions, and the store is started anew."""

_REQUIRED_INDEX = 8
"""Index of the argument with the characters that every match must hold."""

_unsaved: dict[bytes, bytes] = {}
_damaged_keys: set[bytes] = set()
"""Stored expressions that cannot be rebuilt."""


@cache
def compiled(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Return the expression from the store, or compile it. Raises `regex.error`."""
    key = f"{int(flags)} {pattern}".encode(errors="surrogatepass")
    stored = _store().get(key)
    if stored is not None:
        try:
            return cast("regex.Pattern[str]", _rebuild()[0](*_restore_tuple(msgspec.msgpack.decode(stored))))
        except Exception:  # noqa: BLE001  a damaged entry, or one of another version, is compiled again
            _damaged_keys.add(key)
    expression = regex.compile(pattern, flags)
    _unsaved[key] = msgspec.msgpack.encode(_rebuild()[1](expression)[1])
    return expression


_FORM = regex.compile(
    r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[^1-9]|\(\?P?<\w+>|\{\d*,?\d*\}|0-9"  # no digit that a text must hold
)
_NAMES_DIGITS = regex.compile(r"\d|\(\?(?:P=|[R&(])")  # a digit, a reference to an earlier group, a condition


@cache
def names_digits(pattern: str) -> bool:
    r"""Return whether a match may depend on the value of a digit.

    ``Xid (\d+)`` does not ask for a value, ``Xid 4[38]`` does. So does a back reference, because it compares numbers.
    """
    return _NAMES_DIGITS.search(_FORM.sub("", pattern)) is not None


class _Later:
    """An expression that is compiled when it is first used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._arguments = pattern, flags

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(compiled(*self._arguments), name)
        return value


def later(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Return an expression that is compiled at its first use.

    Module constants use it, because compiling at import would delay every start.
    """
    return cast("regex.Pattern[str]", _Later(pattern, flags))


def keep() -> None:
    """Store the expressions that were compiled since the last call."""
    path = _file()
    if not _unsaved or path is None:
        return
    stored = {key: expression for key, expression in _read(path).items() if key not in _damaged_keys}
    stored = {**stored, **_unsaved} if len(stored) + len(_unsaved) <= MAX_EXPRESSIONS else _unsaved
    cached_files.write(path, msgspec.msgpack.encode(stored))
    _unsaved.clear()


@cache
def _store() -> dict[bytes, bytes]:
    path = _file()
    return _read(path) if path else {}


def _read(path: Path) -> dict[bytes, bytes]:
    """Return the stored expressions, none from a missing or damaged file."""
    with suppress(msgspec.MsgspecError):
        return msgspec.msgpack.decode(cached_files.read(path) or b"\x80", type=dict[bytes, bytes])
    return {}


def _file() -> Path | None:
    folder = cached_files.folder()
    version = (
        f"{regex.__version__}-{sys.version_info[0]}.{sys.version_info[1]}-{sys.byteorder}{sys.maxsize.bit_length()}"
    )
    return folder / f"{version}.expressions" if folder else None


def _restore_tuple(arguments: list[Any]) -> list[Any]:
    """Convert one argument back to a tuple.

    MessagePack reads tuples as lists. This tuple holds the characters that every match must hold.
    The package silently ignores a list. A search without a match then takes up to thirty times as long (regex
    2026.11.15).
    """
    return [*arguments[:_REQUIRED_INDEX], tuple(arguments[_REQUIRED_INDEX]), *arguments[_REQUIRED_INDEX + 1 :]]


@cache
def _rebuild() -> tuple[Any, Any]:
    """Return two functions: rebuild an expression, return its arguments."""
    arguments = copyreg.dispatch_table[regex.Pattern]
    return cast("Any", arguments(regex.compile("a")))[0], arguments

"""Escaping of untrusted text.

Logs and file names are untrusted.  An escape sequence in a log could repaint a terminal, a bidirectional override could
turn a sentence around, and a zero-width character could hide a word.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from msgspec import Struct

from logdoctor.model.log import Line, Moment

Value = TypeVar("Value")

# Letters and marks that are drawn as nothing (Unicode property Default_Ignorable_Code_Point).  The variation selectors
# U+FE00..FE0F are left out because every second emoji contains one and they hide nothing.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0\U000e0100-\U000e01ef]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BREAK = re.compile(r"[ \t]*\n\s*")
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")


def escape(text: str, tab: str = "\\t") -> str:
    r"""Write characters that are invisible or control a screen as ASCII.

    ESC becomes ``\x1b``, a bidirectional override ``\u202e``, a newline ``\n``.  A space of any width becomes a plain
    space, a tab becomes ``tab``.  A second call changes nothing.
    """
    if text.isprintable() and (text.isascii() or not _INVISIBLE.search(text)):
        return text
    text = _SPACES.sub(" ", text.replace("\t", tab))
    return "".join(c if c.isprintable() and not _INVISIBLE.match(c) else _escape_char(c) for c in text)


def spreadsheet_cell(value: object) -> object:
    """Escape ``value`` for a cell of a CSV file.

    A text that a spreadsheet would compute gets an apostrophe: ``=1+1`` becomes ``'=1+1``.
    """
    if not isinstance(value, str):
        return value
    text = escape(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _escape_char(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_all(value: Value, tab: str = "\\t") -> Value:
    r"""Escape every text in ``value``: a struct of the model, a tuple, a text.

    A line break in a `Line` or a `Moment` is written as ``\n``.  All other texts are sentences, where a line break
    becomes a space.
    """
    escaped: Any = value
    if isinstance(value, str):
        escaped = escape(_BREAK.sub(" ", value).strip(), tab)
    elif isinstance(value, tuple):
        escaped = tuple(escape_all(item, tab) for item in value)
    elif isinstance(value, Line):
        file, text, field = (escape(part, tab) for part in (value.file, value.text, value.field))
        escaped = Line(file, value.number, text, field, value.document)
    elif isinstance(value, Moment):
        escaped = Moment(escape(value.file, tab), value.line, value.time)
    elif isinstance(value, Struct):
        escaped = type(value)(*(escape_all(getattr(value, name), tab) for name in value.__struct_fields__))
    return escaped  # type: ignore[no-any-return]

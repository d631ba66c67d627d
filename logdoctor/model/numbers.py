"""Numbers in the text of a log or of a file of rules.

Such text is untrusted: `int` takes the digits of any alphabet, and raises an error beyond 4,300 of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_DIGITS = 18
"""Longest number that is read. It fits into 64 bits."""

_DIGITS = re.compile("[0-9]+")
_HEX = re.compile("(?:0[xX])?[0-9A-Fa-f]{1,16}")
ZERO_DIGITS = bytes.maketrans(b"123456789", b"000000000")
"""Table for `bytes.translate` that makes lines equal if they differ in digits only."""


def number(text: str | None) -> int | None:
    """Return the number that ``text`` is, else None.

    ``-3`` gives -3.  ``0x3``, ``+3``, more than `MAX_DIGITS` digits, digits of other alphabets, "" and None give None.
    """
    if not text:
        return None
    digits = text[1:] if text[0] == "-" else text
    return int(text) if len(digits) <= MAX_DIGITS and digits.isascii() and digits.isdigit() else None


def with_commas(text: str) -> str:
    """Return ``20,000`` for 20000. A text that is no number stays."""
    found = number(text)
    return text if found is None else f"{found:,}"


def hex_number(text: str) -> int | None:
    """Return the number that the hex digits ``text`` are, with or without ``0x``, else None."""
    return int(text, 16) if _HEX.fullmatch(text) else None


def code_number(text: str) -> int | None:
    """Return the number that ``text`` is in decimal or as ``0x…``, else None."""
    if text[:2] in {"0x", "0X"}:
        return hex_number(text)
    return number(text)


def number_or_text(text: str) -> int | str:
    """Return the number that ``text`` is, else ``text``."""
    found = number(text)
    return text if found is None else found


def number_fields(texts: Mapping[str, str | None]) -> dict[str, int]:
    """Return the texts that are numbers, by name."""
    return {name: found for name, text in texts.items() if (found := number(text)) is not None}


def numbers_in(text: str) -> list[int]:
    """Return all numbers in ``text``, without signs."""
    return [found for digits in _DIGITS.findall(text) if (found := number(digits)) is not None]


def format_size(size: int) -> str:
    """Return a number of bytes for people, for example ``97.1 GiB``."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} B"

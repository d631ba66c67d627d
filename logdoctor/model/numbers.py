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
    """Return a number of bytes for people, for example ``97.1 GiB`` or ``1.75 GiB``."""
    for unit, scale in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            digits = 1 if size >= 10 * scale else 2
            return f"{size / scale:.{digits}f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{size} B"


_UNITS_OF_TIME = {"en": ("h", "min", "s", "ms"), "zh": ("小时", "分钟", "秒", "毫秒")}
_SAID = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15}(?:\.[0-9]{1,9})?) ?([A-Za-z]{0,12})")
_SECONDS = {"ms": 0.001, "milliseconds": 0.001, "s": 1, "sec": 1, "seconds": 1}
_BYTES = {"b": 1, "byte": 1, "bytes": 1} | {
    f"{power}{end}": 1 << 10 * n for n, power in enumerate("kmg", 1) for end in ("", "b", "ib")
}


def format_duration(seconds: float, lang: str = "en") -> str:
    """Return a time for people: ``250 ms``, ``90 s``, ``30 min``, ``1 h 30 min``."""
    hour, minute, second, milli = _UNITS_OF_TIME.get(lang, _UNITS_OF_TIME["en"])
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} {milli}"
    if seconds < 2 * 60:
        return f"{seconds:.1f}".removesuffix(".0") + f" {second}"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, hour), (minutes, minute), (0 if hours else rest, second))
    return " ".join(f"{n} {unit}" for n, unit in parts if n)


def say_value(name: str, value: object, lang: str = "en") -> str | None:
    """Return a time or a size as people say it, or None for another value.

    The name tells the unit of a number: ``timeout_ms``, ``waited_s``, ``seconds``, ``limit_kb``. A text such as
    ``1800000 ms`` or ``1879048192 bytes`` holds its own. A size that is told in its best unit stays as it is.
    """
    said = _SAID.fullmatch(str(value).strip())
    if said is None:
        return None
    amount, of_name = float(said[1].replace(",", "")), name.rpartition("_")[2]
    unit = said[2].lower() or (of_name if "_" in name or name == "seconds" else "")
    if unit in _SECONDS:
        return format_duration(amount * _SECONDS[unit], lang)
    scale = _BYTES.get(unit) if len(unit) > 1 or said[2] == "B" else None
    return format_size(round(amount * scale)) if scale and amount >= 1 << 10 and scale < 1 << 30 else None

"""Fills a rule's words with the job's own values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from logdoctor.model import Value, Words

PLACE = re.compile(r"\{(\w+)(?:\|([^{}]*))?\}")
LONGEST = 160


def fill(template: str, values: Mapping[str, Value]) -> str:
    """``{name}`` and ``{name|words when unknown}`` replaced; text of a log is cut, never interpreted."""

    def value(found: re.Match[str]) -> str:
        known = values.get(found[1])
        if known in (None, (), ""):
            return found[2] if found[2] is not None else "?"
        text = compress(known) if isinstance(known, tuple) else str(known)
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"

    return PLACE.sub(value, template)


def fill_words(words: Words, values: Mapping[str, Value]) -> Words:
    """All three parts of a rule's words, filled."""
    return Words(fill(words.title, values), fill(words.cause, values), tuple(fill(r, values) for r in words.remedy))


def compress(values: Iterable[int] | Iterable[str]) -> str:
    """``0-3,7`` for numbers; names joined by commas."""
    given = list(values)
    numbers = sorted({v for v in given if isinstance(v, int)})
    if len(numbers) != len(set(given)):
        return ", ".join(map(str, given))
    parts: list[str] = []
    start = previous = None
    for n in [*numbers, None]:
        if previous is not None and n != previous + 1:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = n
        elif start is None:
            start = n
        previous = n
    return ",".join(parts)

"""Fills a rule's words with the job's own values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from logdoctor.model import Value, Words
from logdoctor.regexes import later

OPEN = later(r"\{(\w+)([|}])")
LONGEST = 160


def fill(template: str, values: Mapping[str, Value]) -> str:
    """``{name}`` and ``{name|words when unknown}`` replaced; the words may hold names in turn.

    Text of a log is cut, never interpreted.
    """
    parts: list[str] = []
    at = 0
    while found := OPEN.search(template, at):
        end = found.end() - 1 if found[2] == "}" else _closing(template, found.end())
        known = values.get(found[1])
        default = template[found.end() : end] if found[2] == "|" else "?"
        parts += [template[at : found.start()], fill(default, values) if known in (None, (), "") else _shown(known)]
        at = end + 1
    return "".join([*parts, template[at:]])


def _closing(template: str, start: int) -> int:
    """Where the brace that was opened before ``start`` closes."""
    depth = 1
    for i in range(start, len(template)):
        depth += {"{": 1, "}": -1}.get(template[i], 0)
        if depth == 0:
            return i
    return len(template)


def _shown(value: Value | None) -> str:
    text = compress(value) if isinstance(value, tuple) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


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

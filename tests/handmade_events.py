"""Events made by hand, for tests of what is folded from them."""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.model import Event, Level, Line, Speaker, Value
from logdoctor.parsers import meanings


def handmade(
    line: Line,
    kind: str,
    text: str,
    speaker: Speaker,
    level: Level = "info",
    fields: Mapping[str, Value] | None = None,
    order: int = 0,
) -> Event:
    """An event of this kind as the parsers make it: of its dialect, and it means what its records mean."""
    dialect, means = kind.partition(".")[0], meanings().get(kind, ())
    return Event(line, dialect, kind, text, speaker, level, fields or {}, order, means=means)

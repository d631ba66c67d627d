"""Records made by hand, for tests of the reasoning."""

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
    """Return a record as the parsers make it, with lifecycle signs."""
    dialect, means = kind.partition(".")[0], meanings().get(kind, ())
    return Event(line, dialect, kind, text, speaker, level, fields or {}, order, means=means)

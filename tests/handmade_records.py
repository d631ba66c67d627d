"""Records made by hand, for tests of the reasoning."""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.logs import lifecycle_signs
from logdoctor.logs.about import add_subject
from logdoctor.model import Level, Line, Record, Source, Value


def make_record(
    line: Line,
    kind: str,
    text: str,
    source: Source,
    level: Level = "info",
    fields: Mapping[str, Value] | None = None,
    order: int = 0,
) -> Record:
    """Return a record as the parsers make it, with lifecycle signs."""
    log_format, signs = kind.partition(".")[0], add_subject(lifecycle_signs().get(kind, ()), text)
    return Record(line, log_format, kind, text, source, level, fields or {}, order, signs=signs)

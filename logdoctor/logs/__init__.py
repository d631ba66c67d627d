"""Log parsing, from a candidate line to a record.

This package describes the form of lines and never names a failure.  The tables are YAML, one file for each program, in
``formats/`` beside this package: records, prefixes, samples.  ``multiline/`` holds the readers of records of several
lines, ``decoders/`` the code that some prefixes need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdoctor.logs.format_table import read_format_table, stamp

if TYPE_CHECKING:
    from logdoctor.logs.record_pattern import LifecycleSigns, Prefix, RecordPattern
    from logdoctor.model import Origin, Record

__all__ = ["kinds", "lifecycle_signs", "origin_of", "parse_text", "prefixes", "record_patterns", "stamp"]


def record_patterns() -> tuple[RecordPattern, ...]:
    """Return the record patterns of all formats."""
    return read_format_table().record_patterns


def kinds() -> set[str]:
    """Return all kinds of records that logs give: those of the formats, and that of a line which only a rule knows."""
    table = read_format_table()
    return {*(record.kind for record in table.record_patterns), *table.other_kinds, "text.line"}


def prefixes() -> tuple[Prefix, ...]:
    """Return all prefixes. The first that matches is stripped."""
    return read_format_table().prefixes


def lifecycle_signs() -> LifecycleSigns:
    """Return the lifecycle signs of each kind of record."""
    return read_format_table().lifecycle_signs


def origin_of(format_: str) -> Origin:
    """Return where the lines of a format come from."""
    return read_format_table().origins.get(format_, "job")


def parse_text(text: str, file: str = "job.log") -> list[Record]:
    """Parse a short text without a scan, for tests and tools. Each record pattern is tried on each line."""
    from logdoctor.logs.line_parser import parse_text as parse

    return parse(text, file)

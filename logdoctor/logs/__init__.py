"""Log parsing, from a candidate line to a record.

This package describes the form of lines and never names a failure.  ``prefixes/`` holds the prefixes that launchers and
collectors print.  ``formats/`` has one file for each log format, in one folder for each family.  Both folders are
imported as a whole, so a new format or prefix is one new file.  A format defines the tuple ``RECORDS``, a file of
prefixes defines ``PREFIXES``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdoctor.logs.format_table import format_modules, read_format_table, stamp

if TYPE_CHECKING:
    from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern
    from logdoctor.model import Record

__all__ = ["format_modules", "lifecycle_signs", "parse_text", "record_patterns", "stamp"]


def record_patterns() -> tuple[RecordPattern, ...]:
    """Return the record patterns of all formats."""
    return read_format_table().record_patterns


def lifecycle_signs() -> LifecycleSigns:
    """Return the lifecycle signs of each kind of record."""
    return read_format_table().lifecycle_signs


def parse_text(text: str, file: str = "job.log") -> list[Record]:
    """Parse a short text without a scan, for tests and tools. Each record pattern is tried on each line."""
    from logdoctor.logs.line_parser import parse_text as parse

    return parse(text, file)

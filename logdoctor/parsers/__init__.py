"""Log parsing, from a candidate line to a record.

Parsers describe the form of lines and never name a failure.  ``wrappers/`` holds the prefixes that launchers and
collectors print, ``dialects/`` one file for each log format.  Both folders are imported as a whole, so a new format or
prefix is one new file.  A format defines the tuple ``RECORDS``, a file of prefixes defines ``WRAPPERS``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdoctor.parsers.grammar import dialect_modules, read_grammar, stamp

if TYPE_CHECKING:
    from logdoctor.model import Event
    from logdoctor.parsers.record import Meanings, Record

__all__ = ["dialect_modules", "meanings", "parse_text", "records", "stamp"]


def records() -> tuple[Record, ...]:
    """Return the record patterns of all formats."""
    return read_grammar().records


def meanings() -> Meanings:
    """Return the lifecycle signs of each kind of record."""
    return read_grammar().meanings


def parse_text(text: str, file: str = "job.log") -> list[Event]:
    """Parse a short text without a scan, for tests and tools. Each record pattern is tried on each line."""
    from logdoctor.parsers.line_parser import parse_text as parse

    return parse(text, file)

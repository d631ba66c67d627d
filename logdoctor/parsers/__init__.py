"""Parsers know FORM: they say who spoke and what shape a line has.  They never name a failure.

``wrappers/`` holds what launchers and viewers put around a line, ``dialects/`` one file a dialect.  Both are found by
importing every module of the folder, so a new one is one new file: a dialect module has ``RECORDS``, a wrapper module
has ``WRAPPERS`` (tuples).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdoctor.parsers.grammar import dialect_modules, read_grammar, stamp

if TYPE_CHECKING:
    from logdoctor.model import Event
    from logdoctor.parsers.record import Meanings, Record

__all__ = ["dialect_modules", "meanings", "parse_text", "records", "stamp"]


def records() -> tuple[Record, ...]:
    """All records of all dialects."""
    return read_grammar().records


def meanings() -> Meanings:
    """What each kind of event means, where it means anything to the reasoning."""
    return read_grammar().meanings


def parse_text(text: str, file: str = "job.log") -> list[Event]:
    """The events of a short text, without a scan: every record is tried on every line.  For tests and tools."""
    from logdoctor.parsers.line_parser import parse_text as parse

    return parse(text, file)

"""Parsers know FORM: they say who spoke and what shape a line has.  They never name a failure.

``wrappers/`` holds what launchers and viewers put around a line, ``dialects/`` one file a dialect.  Both are found by
importing every module of the folder, so a new one is one new file: a dialect module has ``RECORDS``, a wrapper module
has ``WRAPPERS`` (tuples).
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from logdoctor.parsers.record import Record

if TYPE_CHECKING:
    from logdoctor.model import Event, Meaning


@cache
def records() -> tuple[Record, ...]:
    """All records of all dialects, in the order of the dialect files' names."""
    from logdoctor.parsers import dialects

    modules = sorted(m.name for m in pkgutil.iter_modules(dialects.__path__))
    return tuple(r for name in modules for r in importlib.import_module(f"{dialects.__name__}.{name}").RECORDS)


@cache
def meanings() -> dict[str, tuple[Meaning, ...]]:
    """What each kind of event means, where it means anything to the reasoning."""
    return {record.kind: record.means for record in records() if record.means}


def parse_text(text: str, file: str = "job.log") -> list[Event]:
    """The events of a short text, without a scan: every record is tried on every line.  For tests and tools."""
    from logdoctor.parsers.line_parser import parse_text as parse

    return parse(text, file)

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
    from types import ModuleType

    from logdoctor.model import Event
    from logdoctor.parsers.record import Meanings


@cache
def dialect_modules() -> tuple[ModuleType, ...]:
    """The files of all dialects, in the order of their names."""
    from logdoctor.parsers import dialects

    names = sorted(m.name for m in pkgutil.iter_modules(dialects.__path__))
    return tuple(importlib.import_module(f"{dialects.__name__}.{name}") for name in names)


@cache
def records() -> tuple[Record, ...]:
    """All records of all dialects."""
    return tuple(record for module in dialect_modules() for record in module.RECORDS)


@cache
def meanings() -> Meanings:
    """What each kind of event means, where it means anything to the reasoning."""
    return {kind: means for module in dialect_modules() for kind, means in getattr(module, "MEANS", {}).items()}


def parse_text(text: str, file: str = "job.log") -> list[Event]:
    """The events of a short text, without a scan: every record is tried on every line.  For tests and tools."""
    from logdoctor.parsers.line_parser import parse_text as parse

    return parse(text, file)

"""Ledgers: what follows from many events together, across ranks.  One file a ledger; there is no list to add it to.

A ledger's module has a class ``Ledger`` with ``observe(event)``, which takes one event in, in bounded memory, and
``derive(picture)``, which gives the events that follow (dialect ``ledger``, each standing on a line of the log that
shows it); rules match them by their kind.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from typing import Any, Protocol

from logdoctor.model import Record
from logdoctor.reasoning.job_state import JobState


class Detector(Protocol):
    """What each detector can do."""

    def observe(self, record: Record) -> None:
        """Take one event in."""
        ...

    def derive(self, state: JobState) -> Iterable[Record]:
        """What follows from all that was observed."""
        ...


def detectors() -> list[Detector]:
    """A new one of each, in the order of their files' names."""
    return [detector() for detector in _classes()]


@cache
def _classes() -> tuple[Any, ...]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}").Detector for name in names)

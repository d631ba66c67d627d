"""Detectors: conclusions from many records, across ranks.

Each module of this package is loaded, so there is no list to extend. A module has a class ``Detector``, which is a
`dispatch.Reader` with one more method. ``READS`` names the sorts of records that it reads, ``observe(record)`` reads
one in bounded memory. ``derive(state)`` returns the conclusions as records of the format ``ledger``, and changes
nothing. Each stands on a log line that shows it, and rules match it by its kind.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from logdoctor.model import Record, Value
from logdoctor.pack.module_names import module_names
from logdoctor.pack.regexes import later
from logdoctor.reasoning.dispatch import Reader
from logdoctor.reasoning.job_state import JobState

K = TypeVar("K", int, str)
_DONE = later(r"(?i)\b(?:saved|successfully|finished|completed?(?! (?:epoch|step|iteration)s?\b)|done|took)\b")


class Detector(Reader, Protocol):
    """Interface of all detectors."""

    def derive(self, state: JobState) -> Iterable[Record]:
        """Return the records that follow from all observed records."""
        ...


def forget(detector: Struct) -> None:
    """Forget all that a detector read, for example because an attempt of the job is over."""
    fresh = type(detector)()
    for name in detector.__struct_fields__:
        setattr(detector, name, getattr(fresh, name))


def split_odd(values: Mapping[K, Hashable]) -> tuple[list[K], list[K]]:
    """Return the keys with the commonest value, and the others, those with the commoner values first."""
    if not values:
        return [], []
    sides: dict[Hashable, list[K]] = {}
    for key, value in sorted(values.items()):
        sides.setdefault(value, []).append(key)
    ordered = sorted(sides.values(), key=lambda side: (-len(side), side))
    return ordered[0], [key for side in ordered[1:] for key in side]


def ranks_and_hosts(name: str, records: Iterable[Record], state: JobState) -> dict[str, Value]:
    """Return the known ranks and hosts of ``records`` as fields. ``late`` gives ``late`` and ``late_hosts``."""
    records = [*records]
    ranks = {rank for e in records if (rank := state.places.rank_of(e)) is not None}
    hosts = {host for e in records if (host := state.places.host_of(e))}
    return {name: tuple(sorted(ranks)), f"{name}_hosts": tuple(sorted(hosts))}


def says_done(record: Record) -> bool:
    """Return whether the line of a phase says that it is over, such as ``Saved checkpoint 40``."""
    return _DONE.search(record.text) is not None


def detectors() -> list[Detector]:
    """Return new detectors in the order of their file names."""
    return [detector() for detector in _classes()]


@cache
def _classes() -> tuple[Any, ...]:
    return tuple(importlib.import_module(f"{__name__}.{name}").Detector for name in module_names(__path__))

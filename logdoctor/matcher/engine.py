"""The interface of an engine, and the choice of the best engine.

An engine searches a window of bytes for all atoms at once. Each engine has one file.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol

from logdoctor.matcher.plan import Plan
from logdoctor.model import LogdoctorError

ID_BITS = 20
"""A hit is the number ``end << ID_BITS | id``, which is cheap to make, to sort and to deduplicate.
``end`` is the offset after the match, or after the line it ends in. Grouping by lines treats both alike."""
ID_MASK = (1 << ID_BITS) - 1
PREFERENCE = ("hyperscan", "re2", "regex")


class Session(Protocol):
    """The state of an engine that one scan owns. Not for two threads at once."""

    def hits(self, window: memoryview, throttled: dict[int, int], *, silent: bool = False) -> list[int]:
        """Return all hits in ``window``, unsorted and possibly repeated.

        ``throttled`` maps atoms to -1. Of each of them only the first hit is reported, or none if ``silent``.
        The end offset of that hit is stored in ``throttled``, where -1 stays for no hit.
        An engine that finds too many hits adds atoms to ``throttled``.
        """
        ...

    def ids(self, text: bytes) -> set[int]:
        """Return the ids of all atoms in a short text."""
        ...


class Engine(Protocol):
    """Compiled atoms that several scans may share."""

    name: str

    def session(self) -> Session: ...


def load_engine(plan: Plan, cache_dir: Path | None, required: str | None) -> Engine:
    """Load the best engine that is installed and accepts the atoms of ``plan``.

    ``required`` names an engine to use instead.
    Raises `LogdoctorError` if the engine is missing or no engine accepts the atoms.
    """
    reasons = []
    for name in (required,) if required else PREFERENCE if plan.owners else ("regex",):
        try:
            return _load(name, plan, cache_dir)
        except Exception as error:  # noqa: BLE001, PERF203  a library may be missing, broken or refuse an atom
            reasons.append(f"{name}: {error}")
    raise LogdoctorError("no engine can scan for the patterns", why="; ".join(reasons), help="pip install hyperscan")


def _load(name: str, plan: Plan, cache_dir: Path | None) -> Engine:
    if name not in PREFERENCE:
        raise ValueError(f"there is no such engine; there are {', '.join(PREFERENCE)}")
    module = importlib.import_module(f"logdoctor.matcher.{name}_engine")
    engine: Engine = module.load(plan, cache_dir)
    return engine

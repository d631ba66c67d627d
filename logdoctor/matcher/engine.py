"""The interface of an engine, and the choice of the best engine.

An engine searches a window of bytes for all patterns at once. Each engine has one file.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol

from logdoctor.matcher.plan import Expressions
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

        ``throttled`` maps pattern ids to -1. Of each of them only the first hit is reported, or none if ``silent``.
        The end offset of that hit is stored in ``throttled``, where -1 stays for no hit.
        An engine that finds too many hits adds ids to ``throttled``.
        """
        ...

    def ids(self, text: bytes) -> tuple[int, ...]:
        """Return the ids of all patterns in a short text, ascending."""
        ...


class Engine(Protocol):
    """Compiled patterns that several scans may share."""

    name: str

    def session(self) -> Session: ...


def load_engine(
    expressions: Expressions, cache_dir: Path | None, required: str | None, *, ids_only: bool = False
) -> Engine:
    """Load the best engine that is installed and accepts the ``expressions``.

    ``required`` names an engine to use instead. ``ids_only``: only `Session.ids` will be called.
    Raises `LogdoctorError` if the engine is missing or no engine accepts the expressions.
    """
    reasons = []
    for name in (required,) if required else PREFERENCE if expressions.count else ("regex",):
        try:
            return _load(name, expressions, cache_dir, ids_only=ids_only)
        except Exception as error:  # noqa: BLE001, PERF203  a library may be missing, broken or refuse a pattern
            reasons.append(f"{name}: {error}")
    raise LogdoctorError("no engine can scan for the patterns", why="; ".join(reasons), help="pip install hyperscan")


def _load(name: str, expressions: Expressions, cache_dir: Path | None, *, ids_only: bool) -> Engine:
    if name not in PREFERENCE:
        raise ValueError(f"there is no such engine; there are {', '.join(PREFERENCE)}")
    module = importlib.import_module(f"logdoctor.matcher.{name}_engine")
    engine: Engine = module.load(expressions, cache_dir, ids_only=ids_only)
    return engine

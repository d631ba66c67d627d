"""What an engine is: all patterns at once over a window of bytes.  One file an engine; this one picks the best."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol

from logdoctor.model import LogdoctorError
from logdoctor.prefilter.plan import Expressions

ID_BITS = 20
"""A hit is one number, ``end << ID_BITS | id``: cheap to make, to sort and to make unique.  ``end`` is the offset after
the last byte of the match (or of the line it ends in, which the grouping by lines treats alike)."""
ID_MASK = (1 << ID_BITS) - 1
PREFERENCE = ("hyperscan", "re2", "regex")


class Session(Protocol):
    """The part of an engine that one scan owns (its scratch memory): not for two threads at once."""

    def hits(self, window: memoryview, thinned: dict[int, int], *, silent: bool = False) -> list[int]:
        """All hits in ``window``, in no order, possibly more than once.

        Of each id in ``thinned`` the first one only, or none if ``silent``; its end offset is left there (-1 comes in,
        and stays if there is none).
        An engine that would drown otherwise adds ids.
        """
        ...

    def ids(self, text: bytes) -> tuple[int, ...]:
        """Which patterns hit anywhere in a short text, ascending."""
        ...


class Engine(Protocol):
    """Compiled patterns, safe to share."""

    name: str

    def session(self) -> Session:
        """A new session."""
        ...


def load_engine(wanted: Expressions, cache_dir: Path | None, by: str | None, *, once: bool = False) -> Engine:
    """The best engine whose library is there and takes what is ``wanted``, or the one that is called ``by``.

    ``once``: it will only be asked for `Session.ids`.

    Raises `LogdoctorError` if that one cannot be had, or no engine takes the expressions.
    """
    reasons = []
    for name in (by,) if by else PREFERENCE if wanted.count else ("regex",):
        try:
            return _load(name, wanted, cache_dir, once=once)
        except Exception as error:  # noqa: BLE001, PERF203  a library may be missing, broken or refuse a pattern
            reasons.append(f"{name}: {error}")
    raise LogdoctorError("no engine can scan for the patterns", why="; ".join(reasons), help="pip install hyperscan")


def _load(name: str, wanted: Expressions, cache_dir: Path | None, *, once: bool) -> Engine:
    if name not in PREFERENCE:
        raise ValueError(f"there is no such engine; there are {', '.join(PREFERENCE)}")
    module = importlib.import_module(f"logdoctor.prefilter.{name}_engine")
    engine: Engine = module.load(wanted, cache_dir, once=once)
    return engine

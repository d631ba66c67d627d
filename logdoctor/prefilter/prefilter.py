"""All patterns compiled into one engine, to be run over any number of inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from logdoctor.prefilter.engine import Engine, load_engine
from logdoctor.prefilter.flood import Floods
from logdoctor.prefilter.naming import Naming, load_naming
from logdoctor.prefilter.plan import Plan
from logdoctor.prefilter.scan import Scan
from logdoctor.prefilter.sublines import FLAT
from logdoctor.prefilter.window import ReadInto

Scans = Callable[[ReadInto], Scan]

_FLATTEN = bytes.maketrans(b"\n\r", bytes((FLAT, FLAT)))


class Prefilter:
    """A pattern's id is its place in the sequence that the plan was made of."""

    def __init__(self, engine: Engine, often: frozenset[int], naming: Naming, alone: frozenset[int]) -> None:
        self._engine = engine
        self._often = often
        self._naming = naming
        self.alone = alone
        """The ids of the patterns that make a line worth a look by themselves."""

    @classmethod
    def load(cls, plan: Plan, cache_dir: Path | None, engine: str | None = None) -> Prefilter:
        """Compile ``plan`` with ``engine`` ("hyperscan", "re2", "regex"), by default the best that is installed.

        ``cache_dir`` is a folder for compiled databases, made if missing; it may be read-only, lost or damaged.
        Raises `logdoctor.model.LogdoctorError` if the engine cannot be had or takes a pattern for wrong.
        """
        loaded = load_engine(plan.scanned, cache_dir, engine)
        naming = load_naming(plan.common, plan.own, loaded.name, cache_dir)
        return cls(loaded, frozenset(plan.scanned.often), naming, frozenset(plan.alone))

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self._engine.name

    def scan(self, readinto: ReadInto) -> Scan:
        """A scan over what ``readinto`` gives (see `logdoctor.model.Stream`); several may be under way at once."""
        return self.scans()(readinto)

    def scans(self) -> Scans:
        """Scans over the streams of one job, to be made one after the other: ``scans()(readinto)``."""
        return partial(Scan, self._engine.session(), Floods(self._often), self._naming, self.alone)

    def match(self, text: bytes) -> tuple[int, ...]:
        """The ids that hit in a short text, ascending.  Its lines are searched as one; not for two threads at once."""
        return self._naming(text.translate(_FLATTEN))

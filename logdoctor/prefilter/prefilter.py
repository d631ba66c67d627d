"""All patterns compiled into one engine, to be run over any number of inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from logdoctor.prefilter.engine import Engine, load_engine
from logdoctor.prefilter.flood import Floods
from logdoctor.prefilter.naming import Naming, load_naming
from logdoctor.prefilter.pattern import Pattern
from logdoctor.prefilter.scan import Scan
from logdoctor.prefilter.sublines import FLAT
from logdoctor.prefilter.window import ReadInto

Scans = Callable[[ReadInto], Scan]

_FLATTEN = bytes.maketrans(b"\n\r", bytes((FLAT, FLAT)))


class Prefilter:
    """A pattern's id is its place in the sequence that `build` was given."""

    def __init__(self, engine: Engine, often: frozenset[int], naming: Naming, alone: frozenset[int]) -> None:
        self._engine = engine
        self._often = often
        self._naming = naming
        self._alone = alone

    @classmethod
    def build(
        cls, patterns: Sequence[Pattern], cache_dir: Path | None, engine: str | None = None, *, common: int = 0
    ) -> Prefilter:
        """Compile ``patterns`` with ``engine`` ("hyperscan", "re2", "regex"), by default the best that is installed.

        ``cache_dir`` is a folder for compiled databases, made if missing; it may be read-only, lost or damaged.
        ``common``: so many of the first patterns are everyone's, the others may change more often.
        Raises `logdoctor.model.LogdoctorError` if the engine cannot be had or takes a pattern for wrong.
        """
        owners: dict[str, list[int]] = {}
        for number, pattern in enumerate(patterns):
            for atom in pattern.atoms:
                owners.setdefault(atom, []).append(number)
        forms = [atom.encode() for atom in owners]
        often = frozenset(i for i, own in enumerate(owners.values()) if all(patterns[n].often for n in own))
        loaded = load_engine(forms, often, cache_dir, engine)
        alone = frozenset(n for n, pattern in enumerate(patterns) if pattern.atoms)
        naming = load_naming([p.whole for p in patterns], common or len(patterns), loaded.name, cache_dir)
        return cls(loaded, often, naming, alone)

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self._engine.name

    def scan(self, readinto: ReadInto) -> Scan:
        """A scan over what ``readinto`` gives (see `logdoctor.model.Stream`); several may be under way at once."""
        return self.scans()(readinto)

    def scans(self) -> Scans:
        """Scans over the streams of one job, to be made one after the other: ``scans()(readinto)``."""
        return partial(Scan, self._engine.session(), Floods(self._often), self._naming, self._alone)

    def match(self, text: bytes) -> tuple[int, ...]:
        """The ids that hit in a short text, ascending.  Its lines are searched as one; not for two threads at once."""
        return self._naming(text.translate(_FLATTEN))

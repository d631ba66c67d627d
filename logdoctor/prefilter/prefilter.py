"""All patterns compiled into one engine, to be run over any number of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from logdoctor.model import LogdoctorError
from logdoctor.prefilter import database_cache
from logdoctor.prefilter.engine import Engine, Session, load_engine
from logdoctor.prefilter.pattern import Pattern
from logdoctor.prefilter.scan import Scan
from logdoctor.prefilter.second_look import SecondLook
from logdoctor.prefilter.sublines import FLAT
from logdoctor.prefilter.window import ReadInto

WORTH_COMPILING = 100
"""So few whole patterns are compiled one by one, when they are needed."""
_FLATTEN = bytes.maketrans(b"\n\r", bytes((FLAT, FLAT)))


class Prefilter:
    """A pattern's id is its place in the sequence that `build` was given."""

    def __init__(self, engine: Engine, often: frozenset[int], second_look: SecondLook) -> None:
        self._engine = engine
        self._often = often
        self._second_look = second_look

    @classmethod
    def build(cls, patterns: Sequence[Pattern], cache_dir: Path | None, engine: str | None = None) -> Prefilter:
        """Compile ``patterns`` with ``engine`` ("hyperscan", "re2", "regex"), by default the best that is installed.

        ``cache_dir`` is a folder for compiled databases, made if missing; it may be read-only, lost or damaged.
        Raises `logdoctor.model.LogdoctorError` if the engine cannot be had or takes a pattern for wrong.
        """
        owners: dict[str, list[int]] = {}
        for number, pattern in enumerate(patterns):
            for atom in pattern.atoms:
                owners.setdefault(atom, []).append(number)
        forms = [atom.encode() for atom in owners]
        often = frozenset(i for i, own in enumerate(owners.values()) if all(patterns[n].often for n in own))
        loaded = load_engine(forms, often, cache_dir, engine)
        wholes = [p.whole for p in patterns]
        second_look = SecondLook(wholes, tuple(owners.values()), _all_at_once(wholes, loaded.name, cache_dir))
        return cls(loaded, often, second_look)

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self._engine.name

    def scan(self, readinto: ReadInto) -> Scan:
        """A scan over what ``readinto`` gives (see `logdoctor.model.Stream`); several may be under way at once."""
        return Scan(self._engine.session(), readinto, self._often, self._second_look)

    def match(self, text: bytes) -> tuple[int, ...]:
        """The ids that hit in a short text, ascending.  Its lines are searched as one; not for two threads at once."""
        flat = text.translate(_FLATTEN)
        return self._second_look.confirm(self._session.ids(flat), flat)

    @cached_property
    def _session(self) -> Session:
        return self._engine.session()


def _all_at_once(wholes: Sequence[str | None], engine: str, cache_dir: Path | None) -> Session | None:
    """A session that searches all whole patterns, where Hyperscan can keep what it compiled; else None."""
    texts = [whole.encode() for whole in wholes if whole is not None]
    if engine != "hyperscan" or len(texts) < WORTH_COMPILING or not database_cache.is_kept_in(cache_dir):
        return None
    try:
        return load_engine(texts, frozenset(), cache_dir, engine).session()
    except LogdoctorError:
        return None

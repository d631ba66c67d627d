"""All patterns, compiled for any number of inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from logdoctor.matcher.engine import Engine, load_engine
from logdoctor.matcher.plan import Plan
from logdoctor.matcher.scan import Scan
from logdoctor.matcher.sublines import NEWLINE_STAND_IN
from logdoctor.matcher.throttle import JobThrottle
from logdoctor.matcher.window import ReadInto

JobScanner = Callable[[ReadInto], Scan]

_FLATTEN = bytes.maketrans(b"\n\r", bytes((NEWLINE_STAND_IN, NEWLINE_STAND_IN)))


class Matcher:
    """The matcher. The id of a pattern is its index in the sequence passed to `make_plan`."""

    def __init__(self, engine: Engine, plan: Plan) -> None:
        self._engine = engine
        self._owners = plan.owners
        self._often = frozenset(plan.often)
        self._session = engine.session()

    @classmethod
    def load(cls, plan: Plan, cache_dir: Path | None, engine: str | None = None) -> Matcher:
        """Compile ``plan`` with ``engine``: "hyperscan", "re2", "regex", or None for the best.

        ``cache_dir`` is a folder for compiled databases, made if missing. It may be read-only, lost or damaged.
        Raises `logdoctor.model.LogdoctorError` if the engine is missing or rejects a pattern.
        """
        return cls(load_engine(plan, cache_dir, engine), plan)

    @property
    def engine(self) -> str:
        return self._engine.name

    def scan(self, readinto: ReadInto) -> Scan:
        """Return a scan over ``readinto`` (see `logdoctor.model.Stream`). Several scans may run at the same time."""
        return self.job_scanner()(readinto)

    def job_scanner(self) -> JobScanner:
        """Return a function that scans the next stream of one job."""
        return partial(Scan, self._engine.session(), JobThrottle(self._often), self._match_line)

    def match(self, text: bytes) -> tuple[int, ...]:
        """Return the ids of the patterns that a short text may hold, ascending.

        They are the owners of its atoms. The lines of the text are searched as one line. Not for two threads at once.
        """
        return self._match_line(text.translate(_FLATTEN))

    def _match_line(self, line: bytes) -> tuple[int, ...]:
        owners = self._owners
        return tuple(sorted({owner for atom in self._session.ids(line) for owner in owners[atom]}))

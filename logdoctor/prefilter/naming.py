"""The second look: which patterns a line holds that the scan picked.

The scan finds lines by plain texts, few and telling.  Whatever pattern is in such a line is then found by a second
engine, that of all whole patterns: with Hyperscan it takes 2.5 microseconds a line for 1,400 patterns (Vectorscan
5.4.12).  Compiling it takes seconds, so Hyperscan does it only where the result can be kept; RE2 takes 0.1 s.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from logdoctor import cached_files
from logdoctor.model import LogdoctorError
from logdoctor.prefilter.engine import Session, load_engine
from logdoctor.prefilter.plan import Expressions

FEW = 100
"""So few patterns any engine compiles at once."""


Naming = Callable[[bytes], tuple[int, ...]]
"""The places of the patterns that hit anywhere in a short text, ascending; not for two threads at once."""


def load_naming(common: Expressions, own: Expressions, engine: str, cache_dir: Path | None) -> Naming:
    """What names the patterns, first the ``common``, then somebody's ``own``; ``engine`` is the one that scans.

    Each part has a database: that of the common ones stays as it is when somebody's own rules change.
    """
    names, count = _load(common, engine, cache_dir).ids, common.count
    if not own.count:
        return names
    more = _load(own, engine, cache_dir).ids
    return lambda text: names(text) + tuple([count + i for i in more(text)])


def _load(wholes: Expressions, engine: str, cache_dir: Path | None) -> Session:
    if engine == "hyperscan" and wholes.count > FEW and not cached_files.is_kept_in(cache_dir):
        try:
            return load_engine(wholes, cache_dir, "re2").session()
        except LogdoctorError:
            pass
    return load_engine(wholes, cache_dir, engine, once=True).session()

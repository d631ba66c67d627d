"""The second look: which patterns a line holds that the scan picked.

The scan finds lines by plain texts, few and telling.  Whatever pattern is in such a line is then found by a second
engine, that of all whole patterns: with Hyperscan it takes 2.5 microseconds a line for 1,400 patterns (Vectorscan
5.4.12).  Compiling it takes seconds, so Hyperscan does it only where the result can be kept; RE2 takes 0.1 s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from logdoctor import cached_files
from logdoctor.model import LogdoctorError
from logdoctor.prefilter.engine import Session, load_engine

FEW = 100
"""So few patterns any engine compiles at once."""


Naming = Callable[[bytes], tuple[int, ...]]
"""The places of the patterns that hit anywhere in a short text, ascending; not for two threads at once."""


def load_naming(wholes: Sequence[str], common: int, engine: str, cache_dir: Path | None) -> Naming:
    """What names the ``wholes``; ``engine`` is the one that scans.

    The first ``common`` have a database of their own: it stays as it is when somebody's own rules change.
    """
    forms = [whole.encode() for whole in wholes]
    parts = [part for part in (forms[:common], forms[common:]) if part] or [[]]
    names, *more = [_load(part, engine, cache_dir).ids for part in parts]
    if not more:
        return names
    return lambda text: names(text) + tuple([common + i for i in more[0](text)])


def _load(forms: Sequence[bytes], engine: str, cache_dir: Path | None) -> Session:
    if engine == "hyperscan" and len(forms) > FEW and not cached_files.is_kept_in(cache_dir):
        try:
            return load_engine(forms, frozenset(), cache_dir, "re2").session()
        except LogdoctorError:
            pass
    return load_engine(forms, frozenset(), cache_dir, engine, once=True).session()

"""The second look: which patterns a line holds that the scan picked.

The scan finds lines by plain texts, few and telling.  Whatever pattern is in such a line is then found by a second
engine, that of all whole patterns: with Hyperscan it takes 2.5 microseconds a line for 1,400 patterns (Vectorscan
5.4.12).  Compiling it takes seconds, so Hyperscan does it only where the result can be kept; RE2 takes 0.1 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from logdoctor import cached_files
from logdoctor.model import LogdoctorError
from logdoctor.prefilter.engine import Session, load_engine

FEW = 100
"""So few patterns any engine compiles at once."""


def load_naming(wholes: Sequence[str], engine: str, cache_dir: Path | None) -> Session:
    """A session whose ``ids`` are the places of the ``wholes`` that hit; ``engine`` is the one that scans."""
    forms = [whole.encode() for whole in wholes]
    if engine == "hyperscan" and len(forms) > FEW and not cached_files.is_kept_in(cache_dir):
        try:
            return load_engine(forms, frozenset(), cache_dir, "re2").session()
        except LogdoctorError:
            pass
    return load_engine(forms, frozenset(), cache_dir, engine, once=True).session()

"""Durations as rules and tables write them: ``90s``, ``15m``, ``1h``."""

from __future__ import annotations

import re

DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Convert a duration to seconds. Raise ValueError for another text."""
    match = DURATION.fullmatch(text.strip())
    if not match:
        raise ValueError(text)
    return float(match[1]) * UNITS[match[2]]

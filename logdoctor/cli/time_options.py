"""Times in options, such as ``--since 7d``."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta

import typer


def read_time(text: str | None, option: str) -> float | None:
    """Return seconds since 1970 for ``2026-11-01``, ``2026-11-01T12:00+02:00`` or ``7d`` (7 days ago).

    ``12h`` and ``30m`` are hours and minutes. Any other text is wrong usage of ``option``.
    """
    if text is None:
        return None
    ago = re.fullmatch(r"(\d{1,6})([dhm])", text)
    if ago:
        unit = {"d": "days", "h": "hours", "m": "minutes"}[ago[2]]
        return time.time() - timedelta(**{unit: int(ago[1])}).total_seconds()
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        why = f"'{text}' is neither a date like 2026-11-01 nor a time like 7d"
        raise typer.BadParameter(why, param_hint=option) from None

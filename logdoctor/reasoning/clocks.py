"""Times of different clocks compared: stamps without a year, and hosts whose clocks differ."""

from __future__ import annotations

from datetime import datetime, timezone

from logdoctor.model import Event

SKEW = 60.0
"""Seconds that the clocks of two hosts may differ."""
A_YEAR = 366 * 86400.0
"""Stamps that print no year count as of 1970 (the kernel's, the journal's, c10's)."""


def elapsed(earlier: Event, later: Event) -> float | None:
    """The seconds from one event to the other by their stamps; None where one has none.

    Where only one of them prints a year, both count as of that year.
    """
    if earlier.time is None or later.time is None:
        return None
    return _as_of(later.time, earlier.time) - _as_of(earlier.time, later.time)


def _as_of(moment: float, other: float) -> float:
    """``moment`` in the year of ``other``, if it has none itself."""
    if moment >= A_YEAR or other < A_YEAR:
        return moment
    year = datetime.fromtimestamp(other, timezone.utc).year
    return datetime.fromtimestamp(moment, timezone.utc).replace(year=year).timestamp()

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
    first, last = moment(earlier), moment(later)
    return None if first is None or last is None else _as_of(last, first) - _as_of(first, last)


def moment(event: Event) -> float | None:
    """When it was printed, or when what it reports happened (torchrun's summary: ``2024-08-28_03:15:54``)."""
    when = event.fields.get("when")
    if event.time is not None or not isinstance(when, str):
        return event.time
    try:
        return datetime.fromisoformat(when.replace("_", " ")).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None


def _as_of(moment: float, other: float) -> float:
    """``moment`` in the year of ``other``, if it has none itself and that year is one."""
    if not 0 <= moment < A_YEAR <= other:
        return moment
    try:
        year = datetime.fromtimestamp(other, timezone.utc).year
    except (ValueError, OverflowError, OSError):  # a stamp far beyond the calendar
        return moment
    return datetime.fromtimestamp(moment, timezone.utc).replace(year=year).timestamp()

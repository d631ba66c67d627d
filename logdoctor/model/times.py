"""Times of log lines as text."""

from __future__ import annotations

from datetime import datetime, timedelta

DAY = 86400.0
YEAR = 366 * DAY
"""Smaller times come from stamps without a year, which are read as times of 1970."""


def iso_time(seconds: float | None) -> str | None:
    """Return seconds since 1970 as ISO-8601 text without a zone.

    ``1741053600.25`` gives ``2025-03-04T02:00:00.250``.  The zone is left out because the clock that printed the time
    is not known.  Return None for None and for a number that is no date.
    """
    if seconds is None:
        return None
    try:
        moment = datetime(1970, 1, 1) + timedelta(seconds=seconds)  # noqa: DTZ001 - the zone is not known
    except (OverflowError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds" if moment.microsecond >= 500 else "seconds")


def has_year(seconds: float | None) -> bool:
    """Return False for a time whose log line prints no year."""
    return seconds is None or abs(seconds) >= YEAR


def printed_time(seconds: float | None) -> str | None:
    """Return the time as the line prints it: ``11-22T02:14:07`` without a year, ``02:14:07`` without a date."""
    text = iso_time(seconds)
    if text is None or seconds is None or has_year(seconds):
        return text
    return text.partition("T")[2] if seconds < DAY else text.partition("-")[2]


_OF_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}


def seconds_of_age(age: str) -> int:
    """Return the seconds of an age as Kubernetes prints it: ``5m12s`` is 312."""
    seconds = count = 0
    for sign in age:
        if sign in _OF_UNIT:
            seconds, count = seconds + count * _OF_UNIT[sign], 0
        else:
            count = count * 10 + int(sign)
    return seconds

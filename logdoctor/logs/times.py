"""Time stamps of logs as seconds since 1970.

A stamp without a time zone counts as UTC.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone, tzinfo
from functools import lru_cache

from logdoctor.pack.regexes import later

NO_YEAR = 1970
"""Year of stamps without a year, until another stamp of the log has one (see `year_of`)."""

_PARTS = later(
    r"(?P<date>.*?)(?P<clock>\d\d?:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?(?P<half> ?[AaPp][Mm])?"
    r" ?(?P<zone>Z|[A-Z]{3,4}(?![a-z])|[+-]\d\d:?\d\d)?(?: (?P<year>\d{4}))?"
)
_EPOCH = later(r"\d{10}(?:\.\d{1,9})?|\d{13}|\d{16}|\d{19}")
_DATES = (
    "%Y-%m-%d",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%y/%m/%d",
    "%m/%d/%y",
    "%d %b %Y",
    "%d/%b/%Y",
    "%d-%b-%Y",
    "%b %d %Y",
    "%a %b %d %Y",
    "%a %d %b %Y",
    "%Y %b %d",
    "%Y%m%d",
    "%d-%m-%Y",
    "%d-%b-%y",
)
"""Dates as loggers print them, after `_add_year`."""


def parse_time(stamp: str, year: int = NO_YEAR) -> float | None:
    """Return seconds since 1970, or None if ``stamp`` is no time. ``year`` is for stamps that print none."""
    if _EPOCH.fullmatch(stamp):
        return _epoch(stamp)
    parts = _PARTS.fullmatch(stamp)
    if parts is None or not parts["date"]:
        return None
    date = _add_year(parts["date"].lstrip(" _:,").rstrip(" T_:,"), parts["year"], year)
    clock = parts["clock"] + (parts["half"] or "").strip()
    moment = _parse_date(date, clock)
    if moment is None:
        return None
    try:
        whole = moment.replace(tzinfo=_zone(parts["zone"] or "Z")).timestamp()
    except (OverflowError, ValueError):
        return None
    return whole + float(f"0.{parts['fraction'] or 0}")


def year_of(moment: float) -> int | None:
    """Return the year of a time, or None if that is `NO_YEAR`."""
    year = datetime.fromtimestamp(moment, timezone.utc).year
    return None if year == NO_YEAR else year


def _epoch(stamp: str) -> float:
    """Convert seconds, milli-, micro- or nanoseconds since 1970. The number of digits tells the unit."""
    digits = len(stamp.partition(".")[0])
    return float(stamp) / float(f"1e{digits - 10}")


def _add_year(date: str, own_year: str | None, year: int) -> str:
    """Add the year to a date without one.

    Such dates are ``08-28``, ``0828``, ``828`` (c10 does not pad the month) and ``Aug 28``.
    """
    if own_year:
        return f"{date} {own_year}"
    if date.isdecimal() and len(date) in (3, 4):
        return f"{year}-{date[:-2]}-{date[-2:]}"
    if len(date) in (4, 5) and date[-3] in "-/":
        return f"{year}-{date[:-3]}-{date[-2:]}"
    if date[:1].isalpha() and not date[-4:].isdecimal():
        return f"{date} {year}"
    return date.replace("/", "-").replace(".", "-") if date[:4].isdecimal() and date[4:5] in "/." else date


@lru_cache(maxsize=256)
def _parse_date(date: str, clock: str) -> datetime | None:
    time_format = "%I:%M:%S%p" if clock[-1] in "mM" else "%H:%M:%S"
    if date[4:5] == "-" and time_format == "%H:%M:%S":
        try:
            return datetime.fromisoformat(f"{date} {clock}")
        except ValueError:
            pass  # one digit for the month, or no date at all
    for date_format in _formats_of(_date_shape(date)):
        try:
            return datetime.strptime(f"{date} {clock}", f"{date_format} {time_format}")  # noqa: DTZ007
        except ValueError:  # noqa: PERF203 - seldom more than two formats have one shape
            continue
    return None


def _date_shape(date: str) -> str:
    """Reduce ``Wed Aug  8 2024`` to its shape ``a a 0 9``.

    Words become a, numbers of one or two digits 0, longer numbers 9.
    """
    words = re.sub(r"[A-Za-z]+", "a", " ".join(date.split()))
    return re.sub(r"\d{3,}", "9", re.sub(r"(?<!\d)\d{1,2}(?!\d)", "0", words))


@lru_cache(maxsize=64)
def _formats_of(shape: str) -> tuple[str, ...]:
    """Return the formats of `_DATES` whose dates have this shape."""
    words = {"%a": "Mon", "%b": "Jan", "%Y": "2000", "%m": "01", "%d": "01", "%y": "00"}
    return tuple(f for f in _DATES if _date_shape(re.sub(r"%\w", lambda code: words[code[0]], f)) == shape)


@lru_cache(maxsize=64)
def _zone(text: str) -> tzinfo:
    """Parse ``Z``, ``+0200`` and ``+02:00``. A name like ``CST`` is ambiguous, so it counts as UTC."""
    if text == "Z":
        return timezone.utc
    try:
        return datetime.strptime(text, "%z").tzinfo or timezone.utc
    except ValueError:
        return timezone.utc

"""Time stamps of logs as seconds since 1970.

In: the text of a stamp as `stamps` and the other wrappers cut it out; out: a float, or None where it is no time.  A
stamp without zone counts as UTC.  All calendar arithmetic is `datetime`'s.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone, tzinfo
from functools import lru_cache

from logdoctor.regexes import later

NO_YEAR = 1970
"""The year of stamps that print none, until the log shows one (see `year_of`)."""

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
"""Dates as loggers print them; `_complete` has put the year into those without."""


def seconds(stamp: str, year: int = NO_YEAR) -> float | None:
    """The moment that ``stamp`` names; ``year`` is taken where the stamp has none."""
    if _EPOCH.fullmatch(stamp):
        return _epoch(stamp)
    parts = _PARTS.fullmatch(stamp)
    if parts is None or not parts["date"]:
        return None
    date = _complete(parts["date"].strip(" T_:,"), parts["year"], year)
    clock = parts["clock"] + (parts["half"] or "").strip()
    moment = _moment(date, clock)
    if moment is None:
        return None
    try:
        whole = moment.replace(tzinfo=_zone(parts["zone"] or "Z")).timestamp()
    except (OverflowError, ValueError):
        return None
    return whole + float(f"0.{parts['fraction'] or 0}")


def year_of(moment: float) -> int | None:
    """The year of a moment, or None where that is the stand-in for an unknown one."""
    year = datetime.fromtimestamp(moment, timezone.utc).year
    return None if year == NO_YEAR else year


def _epoch(stamp: str) -> float:
    """Seconds, milli-, micro- or nanoseconds since 1970, told apart by their digits."""
    digits = len(stamp.partition(".")[0])
    return float(stamp) / float(f"1e{digits - 10}")


def _complete(date: str, own_year: str | None, year: int) -> str:
    """Put the year into a date without one: ``08-28``, ``0828``, ``828`` (c10 pads no month), ``Aug 28``."""
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
def _moment(date: str, clock: str) -> datetime | None:
    form = "%I:%M:%S%p" if clock[-1] in "mM" else "%H:%M:%S"
    if date[4:5] == "-" and form == "%H:%M:%S":
        try:
            return datetime.fromisoformat(f"{date} {clock}")
        except ValueError:
            pass  # one digit for the month, or no date at all
    for dates in _dates_like(_shape(date)):
        try:
            return datetime.strptime(f"{date} {clock}", f"{dates} {form}")  # noqa: DTZ007 - the zone comes later
        except ValueError:  # noqa: PERF203 - seldom more than two forms look alike
            continue
    return None


def _shape(date: str) -> str:
    """``Wed Aug  8 2024`` -> ``a a 0 9``: words are a, numbers of one or two digits 0, of more 9."""
    words = re.sub(r"[A-Za-z]+", "a", " ".join(date.split()))
    return re.sub(r"\d{3,}", "9", re.sub(r"(?<!\d)\d{1,2}(?!\d)", "0", words))


@lru_cache(maxsize=64)
def _dates_like(shape: str) -> tuple[str, ...]:
    """The forms of date that look like ``shape``, in the order of `_DATES`."""
    words = {"%a": "Mon", "%b": "Jan", "%Y": "2000", "%m": "01", "%d": "01", "%y": "00"}
    return tuple(f for f in _DATES if _shape(re.sub(r"%\w", lambda code: words[code[0]], f)) == shape)


@lru_cache(maxsize=64)
def _zone(text: str) -> tzinfo:
    """``Z``, ``+0200`` and ``+02:00``; a zone's name (``CST``) means several things, so it counts as none."""
    if text == "Z":
        return timezone.utc
    try:
        return datetime.strptime(text, "%z").tzinfo or timezone.utc
    except ValueError:
        return timezone.utc

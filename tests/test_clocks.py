"""Times of different clocks compared."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from logdoctor.model import Event, Line, Speaker
from logdoctor.reasoning.clocks import elapsed


def at(time: float) -> Event:
    return Event(Line("job.log", 1, "x"), "text", "text.line", "x", Speaker(time=time))


def moment(*parts: int) -> float:
    return datetime(*parts, tzinfo=timezone.utc).timestamp()


@pytest.mark.parametrize("far", [1e14, 1e300, float("inf")])
def test_a_stamp_beyond_the_calendar_does_not_end_a_comparison(far):
    assert elapsed(at(90_000.0), at(far)) == far - 90_000.0


def test_a_stamp_without_a_year_keeps_its_date_in_a_leap_year():
    assert elapsed(at(moment(1970, 3, 5, 12, 0)), at(moment(2024, 3, 5, 12, 1))) == 60.0

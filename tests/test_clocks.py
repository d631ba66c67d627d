"""Times of different clocks compared."""

from __future__ import annotations

import io
from datetime import datetime, timezone

import pytest
from handmade_records import make_record
from simulator import simulate

from logdoctor import diagnose
from logdoctor.model import HostClock, Line, Record, Source
from logdoctor.reasoning.lifecycle.clocks import Clocks, elapsed


def at(time: float) -> Record:
    return Record(Line("job.log", 1, "x"), "text", "text.line", "x", Source(time=time))


def moment(*parts: int) -> float:
    return datetime(*parts, tzinfo=timezone.utc).timestamp()


@pytest.mark.parametrize("far", [1e14, 1e300, float("inf")])
def test_stamp_beyond_the_calendar_is_compared(far):
    assert elapsed(at(90_000.0), at(far)) == far - 90_000.0


def test_stamp_without_a_year_keeps_its_date_in_a_leap_year():
    assert elapsed(at(moment(1970, 3, 5, 12, 0)), at(moment(2024, 3, 5, 12, 1))) == 60.0


def step(host: str, value: int, time: float) -> Record:
    line = Line(f"{host}.log", value, "x")
    return make_record(
        line, "progress.step", "x", Source(host=host, time=time), fields={"unit": "step", "value": value}
    )


def clocks_after(*steps: Record) -> Clocks:
    clocks = Clocks(lambda record: record.host)
    for record in steps:
        clocks.observe(record)
    return clocks


def test_shared_steps_of_two_hosts_give_the_difference_of_their_clocks():
    both = [step(host, n, n * 10 + off) for host, off in (("gpu-a", 0), ("gpu-b", 31)) for n in range(4)]
    assert clocks_after(*both).offsets() == (HostClock("gpu-b", "gpu-a", 31.0, 4),)


def test_single_shared_record_gives_no_difference():
    assert clocks_after(step("gpu-a", 7, 100), step("gpu-b", 7, 131)).offsets() == ()


def test_contradicting_shared_records_give_no_difference():
    apart = (0, 40, 90, 300)
    both = [
        step(host, n, n * 10 + (apart[n] if host == "gpu-b" else 0)) for host in ("gpu-a", "gpu-b") for n in range(4)
    ]
    assert clocks_after(*both).offsets() == ()


def test_seconds_between_two_records_use_the_difference_of_the_clocks():
    both = [step(host, n, n * 10 + off) for host, off in (("gpu-a", 0), ("gpu-b", 31)) for n in range(4)]
    early, late = step("gpu-a", 90, 100.0), step("gpu-b", 91, 112.0)
    assert clocks_after(*both).seconds(early, late, ("gpu-a", "gpu-b")) == (-19.0, 5.0)
    assert clocks_after().seconds(early, late, ("gpu-a", "gpu-b")) == (12.0, 60.0)


def test_clocks_of_a_simulated_job_are_reported_as_set(knowledge):
    compared = 0
    for seed in range(12):
        job = simulate(seed, "hang", 32, harm="missing")
        logs = [io.BytesIO(text.encode()) for text in job.files.values()]
        for log, name in zip(logs, job.files, strict=True):
            log.name = name
        for clock in diagnose(logs, knowledge=knowledge).job.clocks:
            compared += 1
            assert clock.ahead == pytest.approx(job.skew[clock.host] - job.skew[clock.of], abs=3.0)
    assert compared > 6

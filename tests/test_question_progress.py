"""Ranks that stopped before the others, and jobs that stood still."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import accumulate

import pytest
from handmade_records import make_record
from hypothesis import given, settings
from hypothesis import strategies as st
from question_probe import Probe

from logdoctor.model import Level, Line, Record, Source, Value
from logdoctor.reasoning.questions.progress import stood_still, stopped_first


class Log:
    """Records in reading order, read by the timeline and the state of a job."""

    def __init__(self) -> None:
        self.probe, self.order, self.file = Probe(), 0, "job.log"
        self.observe, self.state = self.probe.observe, self.probe.state

    def add(
        self,
        kind: str,
        rank: int | None,
        text: str = "",
        at: float | None = None,
        level: Level = "info",
        **fields: Value,
    ) -> Log:
        self.order += 1
        source = Source(rank=rank, time=at)
        line = Line(self.file, self.order, text)
        record = make_record(line, kind, text, source, level, fields, self.order)
        self.observe(record)
        return self

    def step(self, rank: int | None, value: int, at: float | None = None, **fields: str) -> Log:
        return self.add("progress.step", rank, f"step {value}", at, "info", unit="step", value=value, **fields)

    def all(self, *values: int, ranks: int = 4, without: int = -1) -> Log:
        for value in values:
            for rank in range(ranks):
                if rank != without:
                    self.step(rank, value)
        return self

    @property
    def records_by_kind(self) -> dict[str, Record]:
        return {e.kind.partition(".")[2]: e for e in self.probe.ask(stood_still, stopped_first)}


def test_a_rank_two_intervals_behind_the_others_stopped_first() -> None:
    found = Log().all(10, 20, 30).all(40, 50, without=2).records_by_kind["stopped_first"]
    assert (found.fields["late"], found.fields["step"], found.fields["others_step"]) == ((2,), 30, 50)
    assert found.rank == 2


def test_one_interval_behind_is_no_evidence() -> None:
    assert Log().all(10, 20, 30).all(40, without=2).records_by_kind == {}


def test_one_interval_behind_in_other_work_is_evidence() -> None:
    log = Log().all(10, 20, 30).add("progress.phase", 2, "Saving model checkpoint", phase="save").all(40, without=2)
    assert log.records_by_kind["stopped_first"].fields["phase"] == "save"


def test_work_that_was_over_is_no_evidence() -> None:
    log = Log().all(10, 20, 30).add("progress.phase", 2, "checkpoint saved", phase="save").all(40, without=2)
    assert "stopped_first" not in log.records_by_kind


def test_one_interval_behind_and_silent_long_before_is_evidence() -> None:
    log = Log()
    for value in (1, 2, 3):
        for rank in range(4):
            log.step(rank, value, 100.0 + value)
    for rank in (0, 1, 3):
        log.step(rank, 4, 200.0)
    assert log.records_by_kind["stopped_first"].fields["late"] == (2,)


def test_half_of_the_ranks_behind_name_no_rank() -> None:
    log = Log().all(10, 20, 30)
    for value in (40, 50):
        log.step(0, value).step(1, value)
    assert not log.records_by_kind


def test_single_rank_ahead_names_no_rank() -> None:
    log = Log().all(10, 20, 30)
    for value in (40, 50, 60):
        log.step(0, value)
    assert not log.records_by_kind


def test_scattered_ranks_name_no_rank() -> None:
    log = Log().all(10, 20, 30)
    for rank, more in ((1, (40, 50)), (2, (40, 50, 60, 70)), (3, (40, 50, 60, 70, 80, 90))):
        for value in more:
            log.step(rank, value)
    assert not log.records_by_kind


def test_two_ranks_name_no_rank() -> None:
    assert not Log().all(10, 20, 30, ranks=2).step(0, 40).step(0, 50).records_by_kind


def test_a_job_that_ended_well_has_no_laggard() -> None:
    log = Log().all(10, 20, 30).all(40, 50, without=2).add("progress.done", None, "Training completed.")
    assert not log.records_by_kind


def test_steps_that_begin_anew_each_epoch_are_compared_with_their_epoch() -> None:
    log = Log()
    for epoch in ("1", "2"):
        for value in (1, 2, 3):
            for rank in range(4):
                if rank != 2 or (epoch, value) < ("2", 2):
                    log.step(rank, value, epoch=epoch)
    assert log.records_by_kind["stopped_first"].fields["late"] == (2,)


def test_steps_that_begin_anew_without_an_epoch_are_not_compared() -> None:
    assert not Log().all(1, 2, 3, 1, 2, 3).all(4, 5, 6, without=2).records_by_kind


def test_restart_resets_the_steps() -> None:
    log = Log().all(10, 20, 30).all(40, 50, without=2).add("elastic.restart", None)
    assert not log.records_by_kind


def test_a_job_without_a_sign_of_life_before_its_limit_stood_still() -> None:
    log = Log().step(None, 1, 1000.0).step(None, 2, 1060.0).step(None, 3, 1120.0)
    log.add("slurm.cancelled", None, "CANCELLED DUE TO TIME LIMIT", 1120.0 + 2 * 3600 + 400, "fatal")
    fields = log.records_by_kind["stood_still"].fields
    assert (fields["hours"], fields["minutes"], fields["step"]) == (2, 6, 3)


@pytest.mark.parametrize("hours", [0.25, 0.5, 1.0, 2.0, 5.5])
def test_gap_of_whole_quarters_alone_is_no_time_zone(hours: float) -> None:
    log = Log().step(None, 1, 1000.0).step(None, 2, 1010.0).step(None, 3, 1020.0)
    log.add("slurm.cancelled", None, "CANCELLED DUE TO TIME LIMIT", 1025.0 + hours * 3600, "fatal")
    assert log.records_by_kind["stood_still"].fields["step"] == 3


def test_time_that_goes_back_by_whole_hours_shows_another_time_zone() -> None:
    log = Log().add("progress.phase", None, "Loading the data", 1000.0 + 2 * 3600)
    log.step(None, 1, 1000.0).step(None, 2, 1010.0).step(None, 3, 1020.0)
    log.add("slurm.cancelled", None, "CANCELLED DUE TO TIME LIMIT", 1025.0 + 2 * 3600, "fatal")
    assert not log.records_by_kind


def test_offset_of_one_of_two_stamps_may_be_another_time_zone() -> None:
    log = Log()
    for value in (1, 2, 3):
        log.add(
            "progress.step", None, f"2026-01-01T08:00:0{value}Z step {value}", 1000.0 + value, unit="step", value=value
        )
    log.add("slurm.cancelled", None, "CANCELLED AT 2026-01-01T10:00:05 DUE TO TIME LIMIT", 1005.0 + 7200, "fatal")
    assert not log.records_by_kind


def test_stamps_without_a_year_give_no_silence_of_years() -> None:
    year = datetime(2026, 1, 1, tzinfo=timezone.utc).timestamp()
    log = Log().step(None, 1, 1000.0).step(None, 2, 1010.0).step(None, 3, 1020.0)
    log.add("slurm.cancelled", None, "CANCELLED DUE TO TIME LIMIT", year + 1020.0 + 660, "fatal")
    assert log.records_by_kind["stood_still"].fields["idle_s"] == 660


def test_a_job_with_rare_steps_did_not_stand_still() -> None:
    log = Log().step(None, 1, 1000.0).step(None, 2, 9000.0).step(None, 3, 17000.0)
    log.add("slurm.cancelled", None, "CANCELLED DUE TO TIME LIMIT", 17000.0 + 2 * 3600 + 400, "fatal")
    assert not log.records_by_kind


def test_cancelled_job_stood_still_too() -> None:
    log = Log().step(None, 1, 1000.0).step(None, 2, 1060.0).step(None, 3, 1120.0)
    log.add("slurm.cancelled", None, "CANCELLED AT 10:00", 1120.0 + 2 * 3600 + 400, "fatal")
    assert "limit" not in log.records_by_kind["stood_still"].fields


def ended_after(idle: float, *times: float) -> Log:
    """Return a log with steps at ``times``, and a time limit ``idle`` seconds after the last."""
    log = Log()
    for value, time in enumerate(times):
        log.step(None, value, 1000.0 + time)
    return log.add("slurm.cancelled", None, "CANCELLED DUE TO TIME LIMIT", 1000.0 + times[-1] + idle, "fatal")


@pytest.mark.parametrize(
    ("idle", "times", "stood"),
    [
        (90.0, (0.0, 0.5, 1.0, 1.5), True),
        (15.0, (0.0, 0.5, 1.0, 1.5), False),
        (90.0, (0.0, 60.0, 120.0), False),
        (1400.0, (0.0, 60.0, 120.0), True),
        (90.0, (0.0, 0.5, 1.0, 60.0, 60.5), False),
    ],
    ids=["half-second steps", "too short", "slow steps", "slow steps, long", "it was as slow before"],
)
def test_job_stood_still_by_its_own_rhythm(idle: float, times: tuple[float, ...], *, stood: bool) -> None:
    assert ("stood_still" in ended_after(idle, *times).records_by_kind) is stood


GAPS = st.lists(st.floats(1.0, 40.0), min_size=8, max_size=60)


@settings(max_examples=60, deadline=None)
@given(GAPS, st.floats(3.0, 4000.0), st.sampled_from((0.1, 10.0)))
def test_stillness_is_the_same_at_any_scale_of_time(gaps: list[float], idle: float, scale: float) -> None:
    """Steps are longer than stamps are exact, at both scales."""
    times = [0.0, *accumulate(gap * 10 for gap in gaps)]
    found = ended_after(idle * 10, *times).records_by_kind
    scaled = ended_after(idle * 10 * scale, *(time * scale for time in times)).records_by_kind
    assert ("stood_still" in found) is ("stood_still" in scaled)


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 400), st.floats(0.5, 60.0), st.floats(25.0, 5000.0))
def test_job_of_even_steps_stands_still_however_long_it_had_worked(count: int, gap: float, times: float) -> None:
    idle = times * max(gap, 1.0)
    assert "stood_still" in ended_after(idle, *(gap * n for n in range(count))).records_by_kind


@settings(max_examples=60, deadline=None)
@given(st.integers(20, 60), st.floats(0.5, 60.0), st.floats(2.0, 500.0), st.floats(0.1, 1.9), st.integers(1, 18))
def test_step_that_earlier_ones_took_as_long_is_no_hang(
    count: int, gap: float, slow: float, share: float, at: int
) -> None:
    times = [gap * n + (gap * slow if n > at else 0.0) for n in range(count)]
    assert not ended_after(share * gap * slow, *times).records_by_kind


def test_steps_that_were_not_read_are_no_long_step() -> None:
    log = Log()
    for value in (*range(1, 33), *range(5000, 5030)):
        log.step(None, value, 1000.0 + value)
    log.add("slurm.cancelled", None, "CANCELLED DUE TO TIME LIMIT", 6029.0 + 300, "fatal")
    assert log.records_by_kind["stood_still"].fields["idle_s"] == 300


def test_long_step_among_steps_that_were_not_read_counts() -> None:
    log = Log()
    for value in (*range(1, 33), *range(500, 530)):
        log.step(None, value, 1000.0 + value + (200.0 if value >= 500 else 0.0))
    log.add("slurm.cancelled", None, "CANCELLED DUE TO TIME LIMIT", 1729.0 + 300, "fatal")
    assert not log.records_by_kind


def test_job_that_printed_its_result_did_not_stand_still() -> None:
    log = Log().step(None, 1, 1000.0).step(None, 2, 1001.0).step(None, 3, 1002.0)
    log.add("progress.done", None, "Training completed.", 1003.0)
    log.add("slurm.cancelled", None, "CANCELLED DUE TO TIME LIMIT", 1903.0, "fatal")
    assert not log.records_by_kind


Step = tuple[int, int, int | None]
"""Value, total, and the seconds that the loop says it still needs."""


def loop_ended_after(seconds: float, *steps: Step, later: str = "") -> Log:
    """Return a log of which only the start has a time, and a time limit ``seconds`` after it."""
    log = Log().add("c10d.store_listening", None, "started", 50_000.0)
    log.add("progress.phase", None, "reads its data", 50_000.0)
    for value, total, eta in steps:
        told = {} if eta is None else {"eta_s": eta}
        log.add("progress.step", None, "a step", unit="iteration", value=value, total=total, **told)
    if later:
        log.add("progress.phase", None, later)
    return log.add("slurm.cancelled", None, "CANCELLED DUE TO TIME LIMIT", 50_000.0 + seconds, "fatal")


HALFWAY: tuple[Step, ...] = ((100, 400, 3000), (150, 400, 2500), (200, 400, 2000))


@pytest.mark.parametrize(
    ("seconds", "lines", "later", "stood"),
    [
        (14_900.0, HALFWAY, "", True),
        (2_400.0, HALFWAY, "", False),
        (2_000.0 + 3 * 3600, HALFWAY, "", False),
        (14_900.0, (*HALFWAY[1:], HALFWAY[0]), "", False),
        (14_900.0, (*HALFWAY[:2], (200, 900, 7000)), "", False),
        (14_900.0, ((100, 400, None), (150, 400, None), (200, 400, None)), "", False),
        (14_900.0, HALFWAY, "Saving checkpoint", False),
    ],
    ids=["hours later", "too soon", "another time zone", "counts anew", "two loops", "no speed", "another phase"],
)
def test_a_loop_without_times_is_measured_by_its_eta(
    seconds: float, lines: tuple[Step, ...], later: str, *, stood: bool
) -> None:
    found = loop_ended_after(seconds, *lines, later=later).records_by_kind
    assert ("stood_still" in found) is stood
    assert not stood or found["stood_still"].fields["idle_s"] == 12_600


def test_stacks_after_the_last_step_say_that_somebody_looked() -> None:
    log = Log().step(None, 1, 1000.0).step(None, 2, 1000.5).step(None, 3, 1001.0).add("python.stack", None, "stack")
    log.add("slurm.cancelled", None, "CANCELLED DUE TO TIME LIMIT", 1301.0, "fatal")
    assert log.records_by_kind["stood_still"].fields["looked"] == "yes"


def test_own_log_that_ends_with_the_last_step_is_not_certain() -> None:
    certain = []
    for speaks_later in (False, True):
        log = Log().all(10, 20, 30, 40, 50, without=2)
        log.file = "rank2.log"
        log.step(2, 10).step(2, 20).step(2, 30)
        if speaks_later:
            log.add("c10d.dump_signal", 2, level="error")
        certain.append(log.records_by_kind["stopped_first"].fields["certain"])
    assert certain == ["no", "yes"]


def test_processes_without_printed_ranks_are_distinguished_by_pid() -> None:
    log = Log()
    log.state.observe(make_record(Line("job.log", 0, ""), "nccl.comm_init", "", Source(rank=6, host="gx2", pid=902)))
    for value in (1, 2, 3, 4, 5):
        for pid in (900, 901, 902):
            if pid != 902 or value < 4:
                log.order += 1
                source = Source(host="gx2", pid=pid)
                fields: dict[str, Value] = {"unit": "step", "value": value}
                line = Line("job.log", log.order, "")
                record = make_record(line, "progress.step", "", source, "info", fields, log.order)
                log.observe(record)
    assert (
        log.records_by_kind["stopped_first"].fields["late"],
        log.records_by_kind["stopped_first"].fields["late_hosts"],
    ) == (
        (6,),
        ("gx2",),
    )

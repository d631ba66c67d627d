"""Start and end of a job of a scan."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from failing_job import diagnose_log

from logdoctor.archive.jobs import JobFiles
from logdoctor.archive.record import make_record
from logdoctor.model import Diagnosis, JobSummary, Run

STEPS = "2025-06-11 09:00:00,100 step 1 loss 3.1\n2025-06-11 11:30:00,100 step 900 loss 2.1\n"
DIED = "2025-06-11 12:00:00,100 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
KERNEL = "2025-06-09 03:00:00,000 node1 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=9, name=python\n"


def at(*parts: int) -> float:
    return datetime(*parts, tzinfo=timezone.utc).timestamp()


def run_time(started: float, ended: float, changed: float) -> tuple[float | None, float | None]:
    diagnosis = Diagnosis("j", "finished", job=JobSummary(started=started, ended=ended))
    record = make_record(JobFiles("j", ("j.log",), "file", 1, "s", changed), diagnosis)
    return record.started, record.ended


def test_job_ran_from_its_first_to_its_last_timestamp(knowledge):
    state = diagnose_log(STEPS + DIED, knowledge).job
    assert (state.started, state.ended) == (at(2025, 6, 11, 9) + 0.1, at(2025, 6, 11, 12) + 0.1)


def test_earlier_kernel_messages_do_not_extend_the_job(knowledge):
    assert diagnose_log(KERNEL + STEPS + DIED, knowledge).job.started == at(2025, 6, 11, 9) + 0.1


def test_log_without_timestamps_has_no_start(knowledge):
    assert diagnose_log("step 1 loss 3.1\n", knowledge).job.started is None


@pytest.mark.parametrize(
    ("changed", "year"), [(at(2024, 9, 1), 2024), (at(2024, 3, 5, 14), 2024), (at(2024, 2, 1), 2023)]
)
def test_timestamps_without_year_are_before_the_last_write_of_the_file(changed, year):
    first, last = at(1970, 3, 5, 9), at(1970, 3, 5, 12)
    assert run_time(first, last, changed) == (at(year, 3, 5, 9), at(year, 3, 5, 12))


def test_job_requeued_into_the_same_file_has_two_attempts():
    runs = (
        Run("job", "stopped", "job.preempted", "", "f", 1, 9, told=False),
        Run("attempt", "finished", None, "", "f", 9, None, told=True),
    )
    assert (
        make_record(JobFiles("j", ("j.log",), "file", 1, "s", 0.0), Diagnosis("j", "finished", runs=runs)).attempts == 2
    )


def test_timestamps_without_year_over_new_year_give_no_times():
    assert run_time(at(1970, 1, 1, 2), at(1970, 12, 31, 22), at(2025, 1, 2)) == (None, None)


@pytest.mark.parametrize("changed", [1e300, float("inf"), float("nan"), -1e300])
def test_file_time_outside_the_calendar_gives_no_times(changed):
    assert run_time(at(1970, 3, 5), at(1970, 3, 6), changed) == (None, None)

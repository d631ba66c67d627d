"""Launchers: name of the launcher, and the process whose end it names."""

from __future__ import annotations

import pytest
from handmade_records import make_record

from logdoctor.model import Line, Record, Source, Value
from logdoctor.model.tools import tools_of
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.processes import names_an_end


class Log:
    """Records in reading order, observed by a job state."""

    def __init__(self) -> None:
        self.job_summary, self.order = JobState(), 0

    def add(self, kind: str, file: str = "a", time: float | None = None, **fields: Value) -> Record:
        self.order += 1
        line = Line(file, self.order, kind)
        record = make_record(line, kind, kind, Source(time=time), "error", fields, self.order)
        self.job_summary.observe(record)
        return record

    def named(self, beside: Record) -> list[Value]:
        return [end.fields["rank"] for end in self.job_summary.named_ends.ends_in_attempt_of(beside)]


def test_first_end_that_a_launcher_names_counts() -> None:
    log = Log()
    log.add("mpich.abort", rank=3)
    assert log.named(log.add("mpich.abort", rank=1)) == [3]


def test_earlier_end_counts_even_if_read_later() -> None:
    log = Log()
    log.add("elastic.failure_summary", "node-a.log", 5000.0, rank=3)
    assert log.named(log.add("elastic.failure_summary", "node-b.log", 4000.0, rank=9)) == [9]


def test_each_attempt_has_its_own_end() -> None:
    log = Log()
    first = log.add("elastic.worker_failed", rank=3)
    log.add("elastic.restart")
    last = log.add("elastic.worker_failed", rank=5)
    assert (log.named(first), log.named(last)) == ([3], [5])


@pytest.mark.parametrize(
    ("kind", "fields", "named"), [("python.exception", {"local_rank": 2}, True), ("python.exception", {}, False)]
)
def test_exception_with_local_rank_names_a_process(kind: str, fields: dict[str, Value], *, named: bool) -> None:
    assert names_an_end(Log().add(kind, **fields)) is named


def test_torchrun_inside_a_slurm_job_is_the_launcher() -> None:
    assert tools_of({"slurm", "elastic", "nccl"})["launcher"] == ("torchrun", "srun")


def test_formats_without_launcher_give_none() -> None:
    assert tools_of({"nccl", "python"})["launcher"] == ()

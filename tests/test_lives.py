"""Lives of the processes, of the program and of the job."""

from __future__ import annotations

import pytest
from handmade_records import make_record

from logdoctor.logs.line_parser import parse_text
from logdoctor.model import Line, Source
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.ends import signal_of
from logdoctor.reasoning.lifecycle.lives import Lives


def lives_of(*rows: tuple, file: str = "job.log") -> Lives:
    """Return the lives after rows of kind, rank, time and fields."""
    state = JobState()
    for order, (kind, rank, time, fields) in enumerate(rows):
        line = Line(file, order + 1, kind)
        level = "info" if kind.startswith("progress.") else "fatal"
        state.observe(make_record(line, kind, kind, Source(rank=rank, time=time), level, fields, order))
    return state.lives


def steps(rank: int, *times: float) -> list[tuple]:
    return [("progress.step", rank, time, {"value": n, "unit": "step"}) for n, time in enumerate(times)]


DIED = ("python.traceback", 1, 50.0, {"exception": "KeyError"})
CANCELLED = ("slurm.cancelled", None, 40.0, {"what": "JOB"})


@pytest.mark.parametrize(
    ("rows", "failed"),
    [
        ([*steps(1, 10, 20), DIED], True),
        ([("slurm.task_exit", 1, 50.0, {"exit_code": 1})], True),
        ([("slurm.task_exit", 1, 50.0, {"exit_code": 0})], False),
        ([*steps(1, 10), CANCELLED], True),
        ([*steps(1, 10, 20), *steps(0, 10, 20, 200)], False),
        ([DIED, ("elastic.restart", None, 55.0, {}), *steps(1, 60)], False),
    ],
)
def test_attempt_failed_if_a_process_failed_or_the_job_was_ended(rows, failed):
    assert lives_of(*rows).any_failed is failed


def test_launcher_that_names_a_rank_is_not_heard_as_that_rank():
    assert lives_of(("openmpi.rank_died", None, 1.0, {"rank": 3, "pid": 7})).processes[3].last is None


def test_step_of_nobody_belongs_to_its_file():
    assert [*lives_of(*steps(None, 1.0)).processes] == ["job.log"]


@pytest.mark.parametrize(
    ("kind", "fields", "signal"),
    [
        ("slurm.task_exit", {"signal": 11}, 11),
        ("slurm.task_exit", {"exit_code": 137}, 9),
        ("elastic.worker_failed", {"exit_code": -6}, 6),
        ("slurm.task_exit", {"exit_code": 1}, None),
        ("slurm.task_exit", {"reason": "oom"}, 9),
        ("kernel.oom_kill", {}, 9),
    ],
)
def test_signal_of_an_end(kind, fields, signal):
    assert signal_of(make_record(Line("a", 1, ""), kind, "", Source(), fields=fields)) == signal


@pytest.mark.parametrize("number", [4, 6, 7, 8, 9, 11, 15])
@pytest.mark.parametrize("word", ["CODE", "STATUS"])
@pytest.mark.parametrize("who", ["=   PID 812 RUNNING AT cn7\n", "=   RANK 3 PID 812 RUNNING AT cn7\n", ""])
def test_exit_code_of_hydra_is_a_signal_only_if_the_exit_string_says_so_or_above_128(who, word, number):
    head = f"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n{who}=   EXIT {word}: "
    string = f"{'=' * 40}\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Ended (signal {number})\n"
    blocks = (f"{head}{number}\n", f"{head}{number + 128}\n", f"{head}{number}\n{string}")
    assert [signal_of(parse_text(block)[0]) for block in blocks] == [None, number, number]

"""Errors after which a program goes on, and errors of the job script."""

from __future__ import annotations

from pathlib import Path

import pytest

from logdoctor import diagnose
from logdoctor.authoring.rule_check import first_signature

CAUGHT = """\
(Loop pid=77) ERROR:2026-05-07 12:40:{0:02d},100:Traceback (most recent call last):
(Loop pid=77)   File "/home/kim/proj/env.py", line 61, in act
(Loop pid=77)     x, y = parse(answer)
(Loop pid=77) TypeError: cannot unpack None
"""
UNCAUGHT = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "/home/kim/proj/train.py", line 3, in f
[rank0]: TypeError: cannot unpack None
"""


def verdict(folder: Path, text: str) -> str:
    """Return the signature of the first cause, else the verdict."""
    (folder / "job.log").write_text(text)
    answer = diagnose([str(folder / "job.log")])
    return first_signature(answer)


def run(folder: Path, caught: int, end: str) -> str:
    """Return the verdict of a job that caught exceptions, made steps, and printed ``end``."""
    steps = "".join(f"step {n} loss: 2.3{n}\n" for n in range(1, 6))
    return verdict(folder, "".join(CAUGHT.format(n) for n in range(caught)) + steps + end)


def test_exception_caught_many_times_is_no_failure_the_next_time(tmp_path: Path) -> None:
    assert run(tmp_path, 8, CAUGHT.format(9)) == "healthy"


def test_uncaught_exception_is_a_failure_though_caught_before(tmp_path: Path) -> None:
    assert run(tmp_path, 8, UNCAUGHT) == "app.exception"


@pytest.mark.parametrize(("last", "expected"), [("[rank0]: step 7 loss: 2.31", "healthy"), ("", "job.launch")])
def test_missing_command_is_a_failure_unless_ranks_print_later(tmp_path: Path, last: str, expected: str) -> None:
    assert (
        verdict(tmp_path, f"/var/spool/slurmd/job7/slurm_script: line 8: python3: command not found\n{last}\n")
        == expected
    )


def test_missing_command_is_a_failure_though_ranks_printed_before(tmp_path: Path) -> None:
    text = "[rank0]: step 7 loss: 2.31\n/var/spool/slurmd/job7/slurm_script: line 8: torchrun: command not found\n"
    assert verdict(tmp_path, text) == "job.launch"


GAVE_UP = "2026-05-07 12:40:00,100 - ERROR - Max retries exceeded for sample 4\n"


def work_lines(count: int) -> str:
    """Return lines of work without steps."""
    return "".join(f"2026-05-07 12:41:00,{n:03d} - INFO - Sample {n} is complete\n" for n in range(count))


def test_logged_error_is_healthy_with_far_more_work_after_it(tmp_path: Path) -> None:
    assert verdict(tmp_path, work_lines(90) + GAVE_UP + work_lines(400)) == "healthy"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(work_lines(90) + GAVE_UP + work_lines(60), id="little was done after it"),
        pytest.param(work_lines(800) + GAVE_UP + work_lines(400), id="more was done before it"),
        pytest.param(GAVE_UP.replace("sample", "all, exiting at") + work_lines(400), id="it speaks of an end"),
        pytest.param(GAVE_UP + work_lines(400) + GAVE_UP, id="it came again at the end"),
    ],
)
def test_logged_error_is_unknown_otherwise(tmp_path: Path, text: str) -> None:
    assert verdict(tmp_path, text) == "unknown"


CAUGHT_IN = """\
Traceback (most recent call last):
  File "/home/kim/proj/judge.py", line 30, in {}
    answer = solve(task)
TimeoutError: the solver took too long
"""


@pytest.mark.parametrize("message", ["Task 31 failed, skipping it", "Task 31 failed; continuing with the next one"])
def test_exception_that_the_program_skips_is_no_failure(tmp_path: Path, message: str) -> None:
    assert verdict(tmp_path, CAUGHT_IN.format("judge_one") + message + "\nTask 32 is right\n") == "healthy"
    assert verdict(tmp_path, CAUGHT_IN.format("<module>") + message + "\n") == "app.exception"


def test_exception_that_the_program_does_not_skip_is_a_failure(tmp_path: Path) -> None:
    assert verdict(tmp_path, CAUGHT_IN.format("judge_one") + "Task 31 failed\n") == "app.exception"

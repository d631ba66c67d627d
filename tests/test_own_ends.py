"""A process that ended by its own exception: what others then report, and how it broke down afterwards."""

from __future__ import annotations

from pathlib import Path

from logdoctor import diagnose

OWN = 'Traceback (most recent call last):\n  File "/home/u/fit.py", line 9, in main\n    x = table["zebra"]\nKeyError: \'zebra\'\n'
WAITED = (
    "jax.errors.JaxRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: PjRT_Client_Connect::0. "
    "This usually happens because a task triggered the barrier too early or too slowly.\n"
)
CRASH = "run.sh: line 14: 20117 Segmentation fault      (core dumped) python fit.py\n"


def first(folder: Path, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.log").write_text(text)
    return diagnose([str(folder / f"{name}.log") for name in files]).causes[0].signature


def test_who_waits_in_another_file_for_a_process_that_failed_is_its_victim(tmp_path: Path) -> None:
    assert first(tmp_path, alpha=WAITED, beta=OWN) == "app.exception"


def test_in_one_file_a_wait_before_an_exception_stays_the_answer(tmp_path: Path) -> None:
    assert first(tmp_path, alpha=WAITED + OWN) == "rdzv.timeout"


def test_a_process_that_breaks_down_after_its_own_exception_did_not_fail_by_that(tmp_path: Path) -> None:
    assert first(tmp_path, alpha=OWN + CRASH) == "app.exception"


def test_a_crash_reported_before_the_exception_of_another_process_is_the_cause(tmp_path: Path) -> None:
    assert first(tmp_path, alpha=CRASH + OWN) == "app.segfault"

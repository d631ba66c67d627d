"""A process that ended by its own exception.

Other processes report its end, and it may crash afterwards.
"""

from __future__ import annotations

from pathlib import Path

from logdoctor import diagnose

EXCEPTION = 'Traceback (most recent call last):\n  File "/home/u/fit.py", line 9, in main\n    x = table["zebra"]\nKeyError: \'zebra\'\n'
BARRIER_TIMEOUT = (
    "jax.errors.JaxRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: PjRT_Client_Connect::0. "
    "This usually happens because a task triggered the barrier too early or too slowly.\n"
)
CRASH = "run.sh: line 14: 20117 Segmentation fault      (core dumped) python fit.py\n"


def first_signature(folder: Path, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.log").write_text(text)
    return diagnose([str(folder / f"{name}.log") for name in files]).causes[0].signature


def test_wait_in_another_file_for_a_failed_process_is_a_consequence(tmp_path: Path) -> None:
    assert first_signature(tmp_path, alpha=BARRIER_TIMEOUT, beta=EXCEPTION) == "app.exception"


def test_wait_before_an_exception_about_itself_in_one_file_is_a_consequence(tmp_path: Path) -> None:
    assert first_signature(tmp_path, alpha=BARRIER_TIMEOUT + EXCEPTION) == "app.exception"


def test_crash_after_the_exception_of_the_same_process_is_a_consequence(tmp_path: Path) -> None:
    assert first_signature(tmp_path, alpha=EXCEPTION + CRASH) == "app.exception"


def test_crash_reported_before_the_exception_of_another_process_is_the_cause(tmp_path: Path) -> None:
    assert first_signature(tmp_path, alpha=CRASH + EXCEPTION) == "app.segfault"

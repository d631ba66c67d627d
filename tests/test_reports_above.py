"""LSF's reports above the output of their jobs.

stderr is a file of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from logdoctor import diagnose
from logdoctor.authoring.rule_check import first_signature

REPORT = """\
Sender: LSF System <lsfadmin@gx07>
Subject: Job {job}: <halo> in cluster <c1> Exited

Job was executed on host(s) <4*gx07>, in queue <gpu>, as user <kim> in cluster <c1> at Mon Mar  2 10:01:00 2026
Started at Mon Mar  2 10:01:00 2026

{how}

The output (if any) follows:

"""
BAD, GOOD = "Exited with exit code 1.", "Successfully completed."
MEMORY = "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 130."
CRASHED = "Traceback (most recent call last):\n  File \"/home/kim/halo.py\", line 9, in <module>\n    run()\nKeyError: 'zebra'\n"


def job(number: int, how: str, steps: int) -> str:
    return REPORT.format(job=number, how=how) + "".join(f"step {n} loss: 2.{n}\n" for n in range(1, steps + 1))


def answer(folder: Path, knowledge, **files: str) -> str:
    for name, text in files.items():
        (folder / f"halo.{name}").write_text(text)
    return first_signature(diagnose([str(folder / f"halo.{name}") for name in files], knowledge=knowledge))


@pytest.mark.parametrize(("how", "expected"), [(MEMORY, "host.oom-kill"), (BAD, "unknown"), (GOOD, "healthy")])
def test_steps_below_a_report_belong_to_its_job(how, expected, tmp_path, knowledge):
    assert answer(tmp_path, knowledge, out=job(11, how, 9)) == expected


def test_good_job_comes_after_the_exception_of_a_bad_job(tmp_path, knowledge):
    assert answer(tmp_path, knowledge, out=job(11, BAD, 4) + job(12, GOOD, 20), err=CRASHED) == "healthy"


@pytest.mark.parametrize("before", ["", job(11, GOOD, 20)])
def test_exception_in_stderr_belongs_to_a_last_job_that_ended_badly(before, tmp_path, knowledge):
    assert answer(tmp_path, knowledge, out=before + job(12, BAD, 4), err=CRASHED) == "app.exception"


def test_exception_beside_good_jobs_is_the_answer(tmp_path, knowledge):
    assert answer(tmp_path, knowledge, out=job(12, GOOD, 2), err=CRASHED) == "app.exception"

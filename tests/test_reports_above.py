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


def answer_and_runs(folder: Path, knowledge, **files: str) -> tuple[str, list[str]]:
    """Return the answer, and the signatures or verdicts of the runs."""
    for name, text in files.items():
        (folder / f"halo.{name}").write_text(text)
    diagnosis = diagnose([str(folder / f"halo.{name}") for name in files], knowledge=knowledge)
    answer = first_signature(diagnosis)
    return answer, [run.signature or run.verdict for run in diagnosis.runs]


@pytest.mark.parametrize(("how", "answer"), [(MEMORY, "host.oom-kill"), (BAD, "unknown"), (GOOD, "healthy")])
def test_steps_below_a_report_belong_to_its_job(how, answer, tmp_path, knowledge):
    assert answer_and_runs(tmp_path, knowledge, out=job(11, how, 9)) == (answer, [])


def test_each_report_and_the_output_below_it_are_one_run(tmp_path, knowledge):
    log = job(11, GOOD, 20) + job(12, MEMORY, 9) + job(13, MEMORY, 5)
    assert answer_and_runs(tmp_path, knowledge, out=log) == (
        "host.oom-kill",
        ["finished", "host.oom-kill", "host.oom-kill"],
    )


def test_good_job_comes_after_the_exception_of_a_bad_job(tmp_path, knowledge):
    files = {"out": job(11, BAD, 4) + job(12, GOOD, 20), "err": CRASHED}
    assert answer_and_runs(tmp_path, knowledge, **files) == ("healthy", ["unknown", "finished"])


@pytest.mark.parametrize("before", ["", job(11, GOOD, 20)])
def test_exception_in_stderr_belongs_to_a_last_job_that_ended_badly(before, tmp_path, knowledge):
    assert answer_and_runs(tmp_path, knowledge, out=before + job(12, BAD, 4), err=CRASHED)[0] == "app.exception"


def test_exception_beside_good_jobs_is_the_answer(tmp_path, knowledge):
    assert answer_and_runs(tmp_path, knowledge, out=job(12, GOOD, 2), err=CRASHED)[0] == "app.exception"

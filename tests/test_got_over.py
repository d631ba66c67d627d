"""Exceptions that a program caught, logged and got over, and those that it did not."""

from __future__ import annotations

import pytest
from failing_job import answer, diagnosed

from logdoctor import diagnose
from logdoctor.parsers.blocks.python_after import is_caught

WITHIN = """\
Traceback (most recent call last):
  File "/srv/mia/store.py", line 88, in put
    self.client.put(bucket, blob)
  File "/srv/env/lib/python3.11/site-packages/minio/api.py", line 1720, in put
    raise ValueError("bad part 3")
ValueError: bad part 3
"""
WHOLE = WITHIN.replace("in put\n    self", "in <module>\n    self")
CLOSED = """
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/mia/store.py", line 92, in close
    raise RuntimeError("no session")
RuntimeError: no session
"""
RETRIED = ["INFO retrying in 2 s", "INFO part 3 is there", "INFO part 4 is there"]
WORK = [f"INFO part {n} is there" for n in range(4, 9)]


def lines(*told: str) -> str:
    """Lines of one logger."""
    return "".join(f"2026-03-02 10:11:{n:02d},345 {line}\n" for n, line in enumerate(told))


def verdict(log: str, knowledge) -> str:
    return answer(diagnosed(log, knowledge))[0]


@pytest.mark.parametrize("said", ["WARNING part 3 failed, attempt 1 of 5", "ERROR part 3 failed"])
@pytest.mark.parametrize("traceback", [WITHIN, WITHIN + CLOSED])
@pytest.mark.parametrize("after", [RETRIED, WORK])
def test_an_exception_that_was_logged_further_in_is_no_failure_where_the_work_goes_on(
    said, traceback, after, knowledge
):
    assert verdict(lines("INFO part 3", said) + traceback + lines(*after), knowledge) == "healthy"


@pytest.mark.parametrize(
    ("traceback", "after"),
    [
        (WITHIN, []),
        (WITHIN, WORK[:3]),
        (WITHIN, ["INFO closing the session", *WORK]),
        (WHOLE, WORK),
        (WITHIN, [*WORK, "ERROR 1 of 9 parts failed"]),
    ],
    ids=["nothing follows", "little follows", "it tidies up", "nobody caught it", "an error follows"],
)
def test_else_it_is_what_ended_the_program(traceback, after, knowledge):
    log = lines("INFO part 3", "ERROR part 3 failed") + traceback + lines(*after)
    assert verdict(log, knowledge) == "app.exception"


def test_what_fails_in_another_file_may_follow_from_it(tmp_path):
    (tmp_path / "a.log").write_text(lines("ERROR part 3 failed") + WITHIN + lines(*WORK))
    (tmp_path / "b.log").write_text("[rank1]: ConnectionError: the other side is gone\n")
    assert diagnose([str(tmp_path / f"{name}.log") for name in "ab"]).causes[0].signature == "app.exception"


def test_a_job_whose_time_was_up_did_not_end_at_an_exception_that_it_got_over(knowledge):
    end = "slurmstepd: error: *** JOB 812 ON node07 CANCELLED AT 2026-03-02T11:11:12 DUE TO TIME LIMIT ***\n"
    log = lines("ERROR part 3 failed") + WITHIN + lines(*WORK) + end
    assert verdict(log, knowledge) == "job.time-limit"


@pytest.mark.parametrize(
    ("frames", "caught"),
    [
        (["srv/mia/store.py:put", "minio/api.py:put"], True),
        (["srv/mia/fit.py:<module>", "mia/store.py:put"], False),
        (["threading.py:_bootstrap_inner", "mia/store.py:put"], False),
        (["mia/store.py"], False),
        ([], False),
    ],
)
def test_the_outermost_frame_tells_whether_somebody_caught_it(frames, caught):
    assert is_caught(frames) is caught

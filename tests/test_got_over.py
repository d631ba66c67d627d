"""Exceptions that a program caught and logged, and exceptions that ended it."""

from __future__ import annotations

import pytest
from failing_job import answer, diagnose_log

from logdoctor import diagnose
from logdoctor.logs.multiline.python.after import is_caught

INNER_TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/mia/store.py", line 88, in put
    self.client.put(bucket, blob)
  File "/srv/env/lib/python3.11/site-packages/minio/api.py", line 1720, in put
    raise ValueError("bad part 3")
ValueError: bad part 3
"""
FULL_TRACEBACK = INNER_TRACEBACK.replace("in put\n    self", "in <module>\n    self")
CHAINED = """
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/mia/store.py", line 92, in close
    raise RuntimeError("no session")
RuntimeError: no session
"""
RETRY = ["INFO retrying in 2 s", "INFO part 3 is there", "INFO part 4 is there"]
WORK = [f"INFO part {n} is there" for n in range(4, 9)]


def log_lines(*messages: str) -> str:
    return "".join(f"2026-03-02 10:11:{n:02d},345 {line}\n" for n, line in enumerate(messages))


def verdict(log: str, knowledge) -> str:
    return answer(diagnose_log(log, knowledge))[0]


@pytest.mark.parametrize("log_line", ["WARNING part 3 failed, attempt 1 of 5", "ERROR part 3 failed"])
@pytest.mark.parametrize("traceback", [INNER_TRACEBACK, INNER_TRACEBACK + CHAINED])
@pytest.mark.parametrize("after", [RETRY, WORK])
def test_logged_exception_is_no_failure_if_the_work_goes_on(log_line, traceback, after, knowledge):
    assert verdict(log_lines("INFO part 3", log_line) + traceback + log_lines(*after), knowledge) == "no-end-seen"


@pytest.mark.parametrize(
    ("traceback", "after"),
    [
        (INNER_TRACEBACK, []),
        (INNER_TRACEBACK, WORK[:3]),
        (INNER_TRACEBACK, ["INFO closing the session", *WORK]),
        (FULL_TRACEBACK, WORK),
        (INNER_TRACEBACK, [*WORK, "ERROR 1 of 9 parts failed"]),
    ],
    ids=["nothing follows", "little follows", "it tidies up", "nobody caught it", "an error follows"],
)
def test_logged_exception_without_further_work_is_the_failure(traceback, after, knowledge):
    log = log_lines("INFO part 3", "ERROR part 3 failed") + traceback + log_lines(*after)
    assert verdict(log, knowledge) == "app.exception"


def test_failure_in_another_file_may_follow_from_the_exception(tmp_path):
    (tmp_path / "a.log").write_text(log_lines("ERROR part 3 failed") + INNER_TRACEBACK + log_lines(*WORK))
    (tmp_path / "b.log").write_text("[rank1]: ConnectionError: the other side is gone\n")
    assert diagnose([str(tmp_path / f"{name}.log") for name in "ab"]).causes[0].signature == "app.exception"


def test_time_limit_goes_before_an_exception_with_further_work(knowledge):
    end = "slurmstepd: error: *** JOB 812 ON node07 CANCELLED AT 2026-03-02T11:11:12 DUE TO TIME LIMIT ***\n"
    log = log_lines("ERROR part 3 failed") + INNER_TRACEBACK + log_lines(*WORK) + end
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
def test_outermost_frame_shows_whether_the_exception_was_caught(frames, caught):
    assert is_caught(frames) is caught

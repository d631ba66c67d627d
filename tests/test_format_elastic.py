from __future__ import annotations

import pytest
from format_probe import PRINTABLE, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDS = records("elastic")


SUMMARY = """\
============================================================
finetune.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2031-05-06_07:08:09
  host      : ice-07.cluster
  rank      : 14 (local_rank: 6)
  exitcode  : -15 (pid: 5214)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 5214
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2031-05-06_07:08:08
  host      : ice-07.cluster
  rank      : 13 (local_rank: 5)
  exitcode  : -9 (pid: 5213)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 5213
============================================================"""


def test_summary_reports_the_root_entry():
    record = read_record(RECORDS, SUMMARY)
    assert (record.kind, record.level) == ("elastic.failure_summary", "fatal")
    expected = {"rank": 13, "local_rank": 5, "pid": 5213, "exit_code": -9, "signal": 9, "host": "ice-07.cluster"}
    assert {k: record.fields[k] for k in expected} == expected
    assert (record.fields["count"], record.fields["other_ranks"], record.fields["when"]) == (
        2,
        (14,),
        "2031-05-06_07:08:08",
    )


def left_with(root: str, time: str = "07:08:09") -> str:
    """The summary whose root left with exit code 1 and ``root`` as its trace, the other one killed at ``time``."""
    text = SUMMARY.replace("-9 (pid: 5213)", "1 (pid: 5213)").replace("Signal 9 (SIGKILL) received by PID 5213", root)
    return text.replace("07:08:08", time).replace("-15 (", "-9 (").replace("15 (SIGTERM)", "9 (SIGKILL)")


NO_TRACE = "To enable traceback see: the documentation of elastic's errors"


def test_killed_worker_goes_before_one_that_exited_in_the_same_second():
    record = read_record(RECORDS, left_with(NO_TRACE))
    assert (record.fields["rank"], record.fields["signal"], record.fields["other_ranks"]) == (14, 9, (13,))


@pytest.mark.parametrize("summary", [left_with(NO_TRACE, "07:08:08"), left_with("ValueError: no such key")])
def test_root_with_an_earlier_time_or_a_traceback_stays_the_root(summary):
    assert read_record(RECORDS, summary).fields["rank"] == 13


def test_the_summary_of_version_2_15_names_the_signal_on_the_exit_line():
    record = read_record(RECORDS, SUMMARY.replace("-9 (pid: 5213)", "-9 (pid: 5213)  (SIGKILL)"))
    assert (record.fields["exit_code"], record.fields["signal"]) == (-9, 9)


def test_the_summary_with_stars_of_version_1_9():
    text = """\
***************************************
              fit.py FAILED
=======================================
Root Cause:
[0]:
  time: 2031-05-06_07:08:08
  rank: 2 (local_rank: 2)
  exitcode: 1 (pid: 77)
  error_file: <N/A>
  msg: "Process failed with exitcode 1"
=======================================
Other Failures:
  <NO_OTHER_FAILURES>
***************************************"""
    record = read_record(RECORDS, text)
    assert (record.fields["rank"], record.fields["pid"], record.fields["exit_code"]) == (2, 77, 1)


def test_summary_with_an_error_file_gives_the_exception():
    trace = (
        'Traceback (most recent call last):\n    File "/srv/a.py", line 3, in f\n      raise\n  ValueError: no rows\n'
    )
    record = read_record(RECORDS, SUMMARY.replace("Signal 9 (SIGKILL) received by PID 5213", trace))
    assert (record.fields["exception"], record.fields["message"]) == ("ValueError", "no rows")
    assert "a.py" in str(record.fields["root_traceback"])


def test_a_summary_whose_head_is_cut_off_is_still_read():
    record = read_record(RECORDS, SUMMARY[SUMMARY.index("Root Cause") :])
    assert (record.fields["rank"], record.fields["signal"], record.fields["count"]) == (13, 9, 1)


def test_the_result_of_a_rendezvous_gives_ranks_and_restarts():
    text = """\
[default] Rendezvous complete for workers. Result:
  restart_count=2
  master_addr=ice-07
  master_port=29555
  group_rank=1
  group_world_size=2
  local_ranks=[0, 1]
  global_ranks=[2, 3]
  global_world_sizes=[4, 4]
"""
    fields = read_record(RECORDS, text).fields
    assert (fields["restart_count"], fields["ranks"], fields["world_size"], fields["node_rank"]) == (2, (2, 3), 4, 1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(SUMMARY.splitlines()) | st.text(PRINTABLE, max_size=40), max_size=20))
def test_torn_summaries_never_raise(lines):
    for record in read(RECORDS, "\n".join(lines)):
        assert isinstance(record.fields.get("count", 0), int)

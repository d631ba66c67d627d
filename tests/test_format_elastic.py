from __future__ import annotations

import pytest
from format_probe import PRINTABLE, kinds, read, read_record, records
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


@pytest.mark.parametrize("prefix", ["fit-out> ", "* 08:14:{:02} | "])
def test_summary_behind_an_unknown_prefix_is_read(prefix):
    lines = [prefix.format(at) + line for at, line in enumerate(SUMMARY.split("\n"))]
    record = read(RECORDS, "\n".join(lines))[0]
    assert (record.kind, record.fields["rank"], record.fields["signal"]) == ("elastic.failure_summary", 13, 9)


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


@pytest.mark.parametrize("text", ["tests/test_a.py::test_b FAILED", "job 7 FAILED\nretrying"])
def test_other_lines_that_end_in_failed_are_no_summary(text):
    assert kinds(RECORDS, text) == []


@pytest.mark.parametrize(
    ("line", "kind", "level", "fields"),
    [
        (
            "failed (exitcode: -11) local_rank: 3 (pid: 901) of binary: /opt/py/bin/python",
            "elastic.worker_failed",
            "error",
            {"exit_code": -11, "local_rank": 3, "pid": 901, "signal": 11},
        ),
        (
            "failed (exitcode: 1) local_rank: 0 (pid: 8) of binary: /opt/py",
            "elastic.worker_failed",
            "error",
            {"exit_code": 1},
        ),
        ("Sending process 55 closing signal SIGTERM", "elastic.sigterm", "error", {"pid": 55, "signal": 15}),
        ("Closing process 55 via signal SIGHUP", "elastic.sigterm", "error", {"pid": 55, "signal": 1}),
        (
            "Unable to shutdown process 55 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL",
            "elastic.sigterm",
            "warning",
            {"pid": 55, "signal": 9},
        ),
        (
            "Unable to shutdown process 55 via 15, forcefully exitting via 9",
            "elastic.sigterm",
            "warning",
            {"signal": 9},
        ),
        ("  exitcode  : -7 (pid: 66)", "elastic.failure_entry", "error", {"exit_code": -7, "pid": 66, "signal": 7}),
        (
            "  rank      : 12 (local_rank: 4)\n  exitcode  : -7 (pid: 66)\n  error_file: <N/A>",
            "elastic.failure_entry",
            "error",
            {"rank": 12, "local_rank": 4, "exit_code": -7, "pid": 66, "signal": 7},
        ),
        (
            "  traceback : Signal 7 (SIGBUS) received by PID 66",
            "elastic.failure_entry",
            "error",
            {"pid": 66, "signal": 7},
        ),
        (
            "Received Signals.SIGINT death signal, shutting down workers",
            "elastic.signal_received",
            "error",
            {"signal": 2},
        ),
        ("Received 15 death signal, shutting down workers", "elastic.signal_received", "error", {"signal": 15}),
        (
            "[default] Worker group FAILED. 3/3 attempts left; will restart worker group",
            "elastic.restart",
            "error",
            {"attempts_left": 3, "state": "FAILED"},
        ),
        (
            "[default] Detected 1 new nodes from group_rank=0; will restart worker group",
            "elastic.restart",
            "warning",
            {"new_nodes": 1},
        ),
        (
            "The node 'ice-07_51_0' has failed to send a keep-alive heartbeat to the rendezvous 'run7' due to an error of type RendezvousTimeoutError.",
            "elastic.rendezvous",
            "error",
            {"node": "ice-07_51_0", "exception": "RendezvousTimeoutError"},
        ),
        (
            "The node 'ice-07_51_0' has failed to shutdown the rendezvous 'run7' due to an error of type RendezvousConnectionError.",
            "elastic.rendezvous",
            "warning",
            {"exception": "RendezvousConnectionError"},
        ),
        ("The rendezvous 'run7' has been closed.", "elastic.rendezvous", "error", {"run_id": "run7"}),
        (
            "The node 'ice-07_51_0' has joined round 0 of the rendezvous 'run7' as rank 1 in a world of size 4.",
            "elastic.joined",
            "info",
            {"node_rank": 1, "nodes": 4},
        ),
        (
            "[default] worker group successfully finished. Waiting 300 seconds for other agents to finish.",
            "elastic.success",
            "info",
            {},
        ),
        (
            "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default",
            "elastic.banner",
            "info",
            {},
        ),
    ],
)
def test_lines_of_the_agent(line, kind, level, fields):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == (kind, level)
    assert {k: record.fields.get(k) for k in fields} == fields


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


@pytest.mark.parametrize("head", ["", "torch.multiprocessing.spawn.ProcessExitedException: "])
def test_a_spawned_process_that_a_signal_ended_names_its_index(head):
    record = read_record(RECORDS, f"{head}process 3 terminated with signal SIGKILL")
    assert (record.kind, record.fields["local_rank"], record.fields["signal"]) == ("elastic.spawn_exit", 3, 9)

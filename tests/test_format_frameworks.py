from __future__ import annotations

import pytest
from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDS = records("frameworks")


STALL = (
    "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for "
    "remainder of ranks for more than 60 seconds. This may indicate that different ranks are trying to submit different tensors."
)


@pytest.mark.parametrize(
    "below",
    [
        "Stalled ops:grad.layer_a [missing ranks: 1, 6]\ngrad.layer_b [missing ranks: 6]",
        "Missing ranks:\n1: [grad.layer_a]\n6: [grad.layer_a, grad.layer_b ...]",
        "Stalled ranks:\n1: [grad.layer_a]\n6: [grad.layer_a, grad.layer_b ...]",
    ],
)
def test_horovods_stall_names_the_missing_ranks_in_every_era(below):
    record = read_record(RECORDS, f"{STALL}\n{below}")
    assert (record.kind, record.level) == ("frameworks.stall", "warning")
    assert (record.fields["missing"], record.fields["seconds"]) == ((1, 6), 60)
    assert record.fields["stalled_ops"] == "grad.layer_a, grad.layer_b"


def test_stall_with_ready_ranks_gives_the_missing_ranks():
    record = read_record(RECORDS, f"{STALL} Stalled ops: grad.a [ready ranks: 3, 0, 4], grad.b [ready ranks: 3, 0, 4]")
    assert record.fields["missing"] == (1, 2)
    assert "missing" not in read_record(RECORDS, "HorovodAllreduce_w0 [ready ranks: 0]").fields


def test_the_order_in_which_ranks_became_ready_is_no_difference_between_tensors():
    record = read_record(RECORDS, f"{STALL} Stalled ops: grad.a [ready ranks: 3, 0, 4], grad.b [ready ranks: 0, 4, 3]")
    assert (record.fields["missing"], record.fields["sides"]) == ((1, 2), 1)


def test_a_stall_without_its_first_line_is_read():
    assert read_record(RECORDS, "HorovodAllreduce_w0 [missing ranks: 3]").fields["missing"] == (3,)


@pytest.mark.parametrize(
    ("line", "kind", "level", "fields"),
    [
        (
            "['python', 'a.py', '--local_rank=3'] exits with return code = -7",
            "frameworks.exit",
            "error",
            {"exit_code": -7, "signal": 7},
        ),
        (
            "['python', 'a.py', '--local_rank=0', '--deepspeed'] exits with return code = -9",
            "frameworks.exit",
            "error",
            {"exit_code": -9, "signal": 9, "local_rank": 0},
        ),
        (
            "[2024-04-02 11:11:16,212] [INFO] [launch.py:163:main] dist_world_size=16",
            "frameworks.world",
            "info",
            {"world_size": 16},
        ),
        (
            "ABORT!!! Out of all 4 trainers, the trainer process with rank=[3] was aborted. Please check its log.",
            "frameworks.exit",
            "error",
            {"rank": 3},
        ),
        (
            "ABORT!!! Out of all 4 trainers, the trainer process with rank=[1, 2] was aborted. Please check its log.",
            "frameworks.exit",
            "error",
            {},
        ),
        ("Rank 5 crashed with exit code -9.", "frameworks.exit", "error", {"rank": 5, "exit_code": -9, "signal": 9}),
        (
            "Global rank 2 (PID 811) exited with code 1",
            "frameworks.exit",
            "error",
            {"rank": 2, "pid": 811, "exit_code": 1},
        ),
        ("Process 3 exit with status code 139.", "frameworks.exit", "error", {"rank": 3, "exit_code": 139}),
        ("Killing subprocess 4711", "frameworks.killed", "error", {"pid": 4711}),
        ("Process 4711 exits successfully.", "frameworks.clean_exit", "info", {"pid": 4711}),
        ("Main process received SIGTERM, exiting", "frameworks.told_to_end", "error", {"signal": 15}),
        (
            "Caught signal SIGUSR2 on node-4: this job is preempted",
            "frameworks.told_to_end",
            "error",
            {"signal": 12, "reason": "preempted"},
        ),
        ("exiting program after receiving SIGTERM.", "frameworks.told_to_end", "error", {"signal": 15}),
        (
            "[deepspeed] OVERFLOW! Rank 4 Skipping step. Attempted loss scale: 65536, reducing to 32768",
            "frameworks.overflow",
            "info",
            {"rank": 4},
        ),
        (
            "[deepspeed] OVERFLOW! Rank 4 Skipping step. Attempted loss scale: 2, reducing to 1",
            "frameworks.overflow",
            "info",
            {"rank": 4, "scale": 2},
        ),
        (
            "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 16384.0",
            "frameworks.overflow",
            "info",
            {},
        ),
        (
            "Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
            "frameworks.scale_minimum",
            "error",
            {},
        ),
        ("Loss is nan, stopping training", "frameworks.not_finite", "error", {}),
        ("found NaN in local grad norm for bucket #0 in backward pass", "frameworks.not_finite", "error", {}),
        ("EngineCore encountered a fatal error.", "frameworks.engine_died", "fatal", {"component": "EngineCore"}),
        ("WorkerProc failed to start.", "frameworks.engine_died", "fatal", {"component": "WorkerProc"}),
        (
            "Worker proc VllmWorker-1 died unexpectedly, shutting down executor.",
            "frameworks.engine_died",
            "error",
            {"worker": "VllmWorker-1", "rank": 1},
        ),
        (
            "Worker proc Worker_DP1_TP0 died unexpectedly, shutting down executor.",
            "frameworks.engine_died",
            "error",
            {"worker": "Worker_DP1_TP0"},
        ),
        ("Scheduler hit an exception: boom", "frameworks.engine_died", "fatal", {"component": "Scheduler"}),
        ("Watchdog timeout (self.watchdog_timeout=300)", "frameworks.engine_stuck", "error", {}),
        ("Possible persistent error!", "frameworks.rerun", "error", {}),
        (
            "The following values were not passed to `accelerate launch` and had defaults used instead:",
            "frameworks.hint",
            "info",
            {},
        ),
        ("wandb: Network error (ConnectionError), entering retry loop.", "frameworks.retry", "warning", {}),
        (
            "Horovod has been shut down. This was caused by an exception on one of the ranks",
            "frameworks.shutdown",
            "error",
            {},
        ),
        (
            "Mismatched allreduce tensor shapes: One rank sent a tensor of shape [4], but another rank sent [8].",
            "frameworks.mismatch",
            "error",
            {},
        ),
        (
            "could not find the metadata file /c/latest_checkpointed_iteration.txt",
            "frameworks.no_checkpoint",
            "info",
            {},
        ),
    ],
)
def test_lines_of_frameworks(line, kind, level, fields):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == (kind, level)
    assert {k: record.fields.get(k) for k in fields} == fields


@pytest.mark.parametrize(
    "line",
    [
        "Rank 2 exited with code 0",
        "Engine started",
        "loss is 2.31",
        "found 12 files in data",
        "EngineCore waiting for work from DP group",
        "watchdog enabled",
        "Received SIGTERM from PID 1 (systemd).",
    ],
)
def test_healthy_lines_give_no_event(line):
    assert kinds(RECORDS, line) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from([STALL, "Missing ranks:", "3: [a, b]", "x [missing ranks: 1,2]"])
        | st.text(PRINTABLE, max_size=50),
        max_size=10,
    )
)
def test_torn_stalls_never_raise(lines):
    for record in read(RECORDS, "\n".join(lines)):
        assert isinstance(record.fields.get("missing", ()), tuple)


def test_milabenchs_report_of_a_failure_without_a_traceback_is_an_error():
    assert read_record(RECORDS, "    No traceback found").level == "error"
    assert kinds(RECORDS, "No traceback found in syslog") == []

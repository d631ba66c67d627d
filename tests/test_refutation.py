"""Alarms that the job got over."""

from __future__ import annotations

import json

import pytest
from failing_job import answer, diagnose_log

from logdoctor.model import CALM

STEPS = [f"2026-03-02 10:11:0{n},345 INFO step {n}/3 loss: 2.31" for n in (1, 2, 3)]
LOST = "2026-03-02 10:11:04,345 ERROR Connection closed by remote peer node-b"
PROXY = [
    "node-b:812:901 [0] NCCL INFO comm 0x55d0 rank 1 nranks 2 cudaDev 0 busId 1000 - Destroy COMPLETE",
    "node-b:812:944 [0] misc/socket.cc:550 NCCL WARN socketProgress: Connection closed by remote peer node-a<41122>",
    "node-b:812:944 [0] proxy.cc:1521 NCCL WARN [Service thread] Accept failed Resource temporarily unavailable",
]
STACK = ["Traceback (most recent call last):", '  File "/srv/mia/fit.py", line 31, in scale', "    return x / y"]
KILLED = "srun: error: node-b: task 1: Killed"
CANCELLED = "slurmstepd: error: *** JOB 7 ON node-b CANCELLED AT 2026-03-02T10:12:09 DUE TO TIME LIMIT ***"


def verdict(knowledge, *lines: str) -> str:
    return answer(diagnose_log("\n".join(lines) + "\n", knowledge))[0]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([*STEPS, "exit code 0", LOST], "finished"),
        ([*STEPS[:2], LOST], "net.peer-closed"),
        ([*STEPS, LOST, "srun: error: node-b: task 1: Exited with exit code 3"], "net.peer-closed"),
        ([*STEPS, *PROXY], "finished"),
        ([*STEPS[:2], *PROXY[1:]], "net.peer-closed"),
        ([STEPS[0], LOST, STEPS[1], STEPS[2]], "finished"),
    ],
    ids=["after the last step", "before it", "a process failed", "teardown", "no teardown", "step 3 of 3 follows"],
)
def test_lost_connection_after_the_last_step_is_no_failure(knowledge, lines, expected):
    assert verdict(knowledge, *lines) == expected


def test_alarm_after_the_last_step_of_a_job_that_had_to_be_ended_is_a_failure(knowledge):
    assert verdict(knowledge, *STEPS, LOST, CANCELLED) not in CALM


@pytest.mark.parametrize(("after", "expected"), [(STEPS[1:2], "no-end-seen"), ([], "unknown"), ([KILLED], "unknown")])
def test_stack_without_an_exception_is_a_failure_only_if_the_life_ends_there(knowledge, after, expected):
    assert verdict(knowledge, STEPS[0], *STACK, *after) in (expected, "job.launch", "host.oom-kill")


def structured(time: str, process: int, message: str) -> str:
    return json.dumps(
        {"asctime": f"2026-05-11 08:12:{time}", "levelname": "INFO", "message": message, "process": process}
    )


@pytest.mark.parametrize(("steps_at", "expected"), [("40,3", "app.exception"), ("42,3", "no-end-seen")])
def test_steps_of_another_process_that_were_collected_late_are_no_sign_of_life(knowledge, steps_at, expected):
    """Ray's driver prints its own lines before those that it collects from its workers."""
    raised = json.loads(structured("40,511", 611, "training failed"))
    raised |= {"levelname": "ERROR", "exc_text": "\n".join([*STACK, "ZeroDivisionError: division by zero"])}
    steps = [structured(f"{steps_at}{n}7", 640, f"step {n} loss 2.{n}") for n in range(4)]
    assert verdict(knowledge, json.dumps(raised), *steps) == expected

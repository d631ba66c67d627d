"""Of one object only the newest state is an alarm."""

from __future__ import annotations

from itertools import product

import pytest
from failing_job import diagnose_log

EVENT = "{age}m   {type}   {state}   {thing}   {says}"
ENDED = ("Warning", "Evicted", "The node was low on resource: memory.")
PREEMPTED = ("Warning", "Preempted", "Preempted by pod 7f21 on node gpu-c02")
STARTED = ("Normal", "Started", "Started container trainer")
PLACED = ("Normal", "Admitted", "Admitted by ClusterQueue lab")
THINGS = ("pod/trainer-2", "pod/Trainer-2.lab", "workload/sft-lora", "job/a")


def event(age: int, thing: str, state: tuple[str, str, str]) -> str:
    return EVENT.format(age=age, thing=thing, type=state[0], state=state[1], says=state[2])


@pytest.mark.parametrize(("thing", "bad", "good"), [*product(THINGS, (ENDED, PREEMPTED), (STARTED, PLACED))])
def test_newest_state_decides_whatever_the_order_of_the_lines(thing, bad, good, knowledge):
    older, newer = event(40, thing, bad), event(12, thing, good)
    for lines in ((older, newer), (newer, older)):
        answer = diagnose_log("\n".join(lines), knowledge)
        assert (answer.causes[0].rule, answer.decision.do) == ("job.preempted-again", "do-nothing")
    for lines in ((event(40, thing, good), event(12, thing, bad)), (event(12, thing, bad), event(40, thing, good))):
        answer = diagnose_log("\n".join(lines), knowledge)
        assert answer.causes[0].rule != "job.preempted-again"


@pytest.mark.parametrize("other", ["pod/trainer-20", "pod/trainer", "pod/other-trainer-2", "job/trainer"])
def test_state_of_another_object_decides_nothing(other, knowledge):
    alone = diagnose_log(event(40, "pod/trainer-2", ENDED), knowledge)
    both = diagnose_log(event(40, "pod/trainer-2", ENDED) + "\n" + event(12, other, STARTED), knowledge)
    assert both.causes[0].rule == alone.causes[0].rule


@pytest.mark.parametrize("due", ["PREEMPTION", "JOB REQUEUE", "NODE FAILURE", "TIME LIMIT"])
@pytest.mark.parametrize(
    "again", ["slurmctld: Requeuing JobId=4411", "slurmctld: sched: Allocate JobId=4411 NodeList=cn07"]
)
def test_job_that_is_queued_or_started_again_needs_nothing(due, again, knowledge):
    ended = f"slurmstepd: error: *** JOB 4411 ON cn07 CANCELLED AT 2026-05-01T10:00:00 DUE TO {due} ***"
    assert diagnose_log(f"{ended}\n{again}", knowledge).decision.do == "do-nothing"
    other = again.replace("4411", "44110")
    assert diagnose_log(f"{ended}\n{other}", knowledge).causes[0].rule != "job.preempted-again"


def test_new_attempt_that_failed_itself_is_the_answer(knowledge):
    log = event(40, "pod/trainer-2", PREEMPTED) + "\n" + event(12, "pod/trainer-2", STARTED)
    log += "\nstep 310 loss: 1.07\nTraceback (most recent call last):\n"
    log += "  File \"/srv/train/loop.py\", line 71, in <module>\n    batch = table[key]\nKeyError: 'shard-0113'\n"
    assert diagnose_log(log, knowledge).causes[0].signature == "app.exception"

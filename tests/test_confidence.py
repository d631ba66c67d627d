"""Facts that make an answer more certain."""

from __future__ import annotations

import pytest
from failing_job import diagnose_log

from logdoctor.reasoning.causality import confidence as doubts_of

STEPS = [f"{rank}: step {n}/400" for n in (1, 2, 3) for rank in (0, 1, 2)]
HEAD = [
    "2: Traceback (most recent call last):",
    '2:   File "/srv/run/fit.py", line 48, in work',
    "2:     path = index[name]",
]
KEY_ERROR = "2: KeyError: 'zebra'"
LIBRARY = [
    '2:   File "/opt/env/lib/python3.11/site-packages/torch/nn/functional.py", line 2551, in embedding',
    "2:     return torch.embedding(weight, input)",
]
LAUNCHER = [
    "srun: error: node01: task 2: Exited with exit code 1",
    "srun: Terminating StepId=9911.0",
    "slurmstepd: error: *** STEP 9911.0 ON node01 CANCELLED AT 2026-11-22T04:00:10 ***",
    "srun: error: node01: tasks 0-1: Terminated",
]


def confidence(knowledge, *lines: str) -> float:
    return diagnose_log("\n".join([*STEPS, *lines]) + "\n", knowledge).causes[0].confidence


def test_reports_of_the_launcher_do_not_cast_doubt_on_an_exception(knowledge):
    alone = confidence(knowledge, *HEAD, KEY_ERROR)
    assert confidence(knowledge, *HEAD, KEY_ERROR, *LAUNCHER) == alone
    assert confidence(knowledge, LAUNCHER[0], *HEAD, KEY_ERROR, *LAUNCHER[1:]) == alone


@pytest.mark.parametrize(
    "lines",
    [[*HEAD, *LIBRARY, "2: TypeError: an integer is required"], [*HEAD, "2: RuntimeError: no such shard"]],
    ids=["raised inside a library", "a type that libraries raise"],
)
def test_built_in_exception_of_the_own_code_is_more_certain(knowledge, lines):
    assert confidence(knowledge, *HEAD, KEY_ERROR) > confidence(knowledge, *lines)


def test_proved_exception_of_the_own_code_decides(knowledge):
    diagnosis = diagnose_log("\n".join([*STEPS, *HEAD, KEY_ERROR, *LAUNCHER]) + "\n", knowledge)
    assert diagnosis.decision.do == "fix-first"


NO_DOUBT = dict.fromkeys(doubts_of.WEIGHTS, 0.0)


@pytest.mark.parametrize("doubt", doubts_of.WEIGHTS)
def test_more_of_a_doubt_never_makes_an_answer_more_certain(doubt):
    others = ({}, dict.fromkeys(doubts_of.WEIGHTS, 1.0))
    for other in others:
        chances = [doubts_of.chance(NO_DOUBT | other | {doubt: amount / 2}) for amount in range(10)]
        assert chances == sorted(chances, reverse=True)


def test_answer_that_tells_nothing_of_the_job_is_only_probable():
    assert doubts_of.chance(NO_DOUBT | {"nothing of the job is told": 1}) <= doubts_of.UNFOUNDED


def test_what_only_victims_may_show_is_only_probable():
    assert doubts_of.chance(NO_DOUBT | {"may be an effect": 1, "stands in for the cause": 1}) <= doubts_of.UNFOUNDED


def test_same_log_carries_the_same_confidence(knowledge):
    assert confidence(knowledge, *HEAD, KEY_ERROR) == confidence(knowledge, *HEAD, KEY_ERROR)

"""Cause and culprit of simulated jobs, and properties of the simulator."""

from __future__ import annotations

import io

import pytest
from simulator import FAULTS, grade, simulate

from logdoctor import diagnose

SIZES = (8, 16, 32)


def grade_simulated(knowledge, fault, seed, *, harm=""):
    """Grade the diagnosis of a simulated job.  Return the grade and a message for a failed assertion."""
    size = SIZES[seed % len(SIZES)]
    if fault in ("link_down", "node_lost", "wrong_interface"):
        size = max(size, 16)
    job = simulate(seed, fault, size, harm=harm)
    logs = []
    for name, text in job.files.items():
        logs.append(io.BytesIO(text.encode()))
        logs[-1].name = name
    diagnosis = diagnose(logs, knowledge=knowledge)
    first = [(c.rule, c.culprit, c.confidence) for c in diagnosis.causes[:1]]
    return grade(diagnosis, job.truth), f"{fault} {seed}: {job.setup}; {job.truth}; said {first}"


@pytest.mark.parametrize("harm", ["", "cut", "missing"])
@pytest.mark.parametrize("fault", FAULTS)
def test_simulated_fault_gives_cause_and_culprit(knowledge, fault, harm):
    for seed in range(2):
        result, message = grade_simulated(knowledge, fault, seed, harm=harm)
        assert result.right, message


@pytest.mark.parametrize("fault", [f for f in FAULTS if f not in ("preempted", "hang")])
def test_missing_logs_of_the_culprit_accuse_no_other_rank(knowledge, fault):
    for seed in range(2):
        result, message = grade_simulated(knowledge, fault, seed, harm="culprit")
        assert not result.accuses_innocent, message


def test_same_seed_gives_the_same_files():
    assert simulate(7, "exception", 16) == simulate(7, "exception", 16)
    assert simulate(7, "exception", 16).files != simulate(8, "exception", 16).files


def test_missing_logs_of_the_culprit_require_no_cause_and_no_culprit():
    truth = simulate(3, "exception", 32, harm="culprit").truth
    assert truth.ranks
    assert not truth.cause_visible
    assert not truth.culprit_visible

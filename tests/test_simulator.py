"""Cause and culprit of simulated jobs, and what makes the simulator worth believing."""

from __future__ import annotations

import io

import pytest
from simulator import FAULTS, grade, simulate

from logdoctor import diagnose

SIZES = (8, 16, 32)


def judged(knowledge, fault, seed, *, harm=""):
    """The grade of the diagnosis of one simulated job, and the job and the diagnosis for the message."""
    size = SIZES[seed % len(SIZES)]
    if fault in ("link_down", "node_lost", "wrong_interface"):
        size = max(size, 16)
    job = simulate(seed, fault, size, harm=harm)
    logs = []
    for name, text in job.files.items():
        logs.append(io.BytesIO(text.encode()))
        logs[-1].name = name
    found = diagnose(logs, knowledge=knowledge)
    first = [(c.rule, c.culprit, c.confidence) for c in found.causes[:1]]
    return grade(found, job.truth), f"{fault} {seed}: {job.setup}; {job.truth}; said {first}"


@pytest.mark.parametrize("harm", ["", "cut", "missing"])
@pytest.mark.parametrize("fault", FAULTS)
def test_cause_and_culprit_of_a_fault_are_found(knowledge, fault, harm):
    for seed in range(2):
        got, told = judged(knowledge, fault, seed, harm=harm)
        assert got.right, told


@pytest.mark.parametrize("fault", [f for f in FAULTS if f not in ("preempted", "hang")])
def test_nobody_innocent_is_named_where_the_logs_of_the_culprit_are_missing(knowledge, fault):
    for seed in range(2):
        got, told = judged(knowledge, fault, seed, harm="culprit")
        assert not got.accuses_innocent, told


def test_the_same_seed_gives_the_same_files():
    assert simulate(7, "exception", 16) == simulate(7, "exception", 16)
    assert simulate(7, "exception", 16).files != simulate(8, "exception", 16).files


def test_where_the_logs_of_the_culprit_are_missing_they_need_not_tell():
    truth = simulate(3, "exception", 32, harm="culprit").truth
    assert truth.ranks
    assert not truth.cause_visible
    assert not truth.culprit_visible

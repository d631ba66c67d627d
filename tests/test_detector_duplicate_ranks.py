"""Ranks that two processes took before their group was complete."""

from __future__ import annotations

from detector_probe import derive

from logdoctor.reasoning.detectors.duplicate_ranks import Detector

MET = "All distributed processes registered. Starting with 4 processes\n"


def joins(*ranks):
    return "".join(f"Initializing distributed: GLOBAL_RANK: {r}, MEMBER: {r + 1}/4\n" for r in ranks)


def twice(text):
    return [(e.fields["twice"], e.fields["world_size"]) for e in derive(Detector(), text)]


def test_ranks_that_two_processes_took_are_told():
    assert twice(joins(0, 1, 1, 0)) == [((0, 1), 4)]


def test_each_rank_once_says_nothing():
    assert twice(joins(0, 1, 2, 3)) == []


def test_one_rank_alone_may_have_been_started_anew():
    assert twice(joins(0, 1, 1)) == []


def test_a_group_that_was_complete_between_them_is_another_run():
    assert twice(joins(0, 1) + MET + joins(0, 1)) == []


def test_steps_between_them_are_another_run():
    assert twice(joins(0, 1) + "step 10 loss: 2.31\n" + joins(0, 1)) == []

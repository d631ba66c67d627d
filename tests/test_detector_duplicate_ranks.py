"""Ranks that two processes took before their group was complete."""

from __future__ import annotations

from detector_probe import derive

from logdoctor.reasoning.detectors.duplicate_ranks import Detector

MET = "All distributed processes registered. Starting with 4 processes\n"


def joins(*ranks):
    return "".join(f"Initializing distributed: GLOBAL_RANK: {r}, MEMBER: {r + 1}/4\n" for r in ranks)


def duplicates(text):
    return [(e.fields["twice"], e.fields["world_size"]) for e in derive(Detector(), text)]


def test_ranks_of_two_processes_are_duplicates():
    assert duplicates(joins(0, 1, 1, 0)) == [((0, 1), 4)]


def test_each_rank_once_gives_nothing():
    assert duplicates(joins(0, 1, 2, 3)) == []


def test_single_duplicate_rank_may_be_a_restart():
    assert duplicates(joins(0, 1, 1)) == []


def test_complete_group_between_two_processes_gives_nothing():
    assert duplicates(joins(0, 1) + MET + joins(0, 1)) == []


def test_steps_between_two_processes_give_nothing():
    assert duplicates(joins(0, 1) + "step 10 loss: 2.31\n" + joins(0, 1)) == []

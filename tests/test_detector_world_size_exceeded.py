"""Barriers with more processes than the world size."""

from __future__ import annotations

from detector_probe import derive

from logdoctor.reasoning.detectors.world_size_exceeded import Detector

BARRIER = "Waiting in store based barrier to initialize process group for rank: 2, key: k (world_size={}, worker_count=4, timeout=0:30:00)"


def test_more_processes_than_the_world_size_are_reported() -> None:
    (found,) = derive(Detector(), BARRIER.format(2))
    assert (found.kind, found.fields) == ("ledger.world_exceeded", {"rank": 2, "world": 2, "joined": 4})


def test_fewer_processes_than_the_world_size_give_nothing() -> None:
    assert derive(Detector(), BARRIER.format(8)) == []

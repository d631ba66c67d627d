"""Ranks that waited for NCCL's unique id."""

from __future__ import annotations

import pytest
from detector_probe import derive

from logdoctor.reasoning.detectors.nccl_id_wait import Detector


def waits(member, rank=None, keys=""):
    tag = "" if rank is None else f"[rank{rank}]: "
    what = f"[{member}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store"
    return f"{tag}torch.distributed.DistBackendError: {what} by key '0', but store->get('0') got error: Socket Timeout{keys}\n"


def awaited(*lines):
    return [(e.fields["rank"], e.fields["waiting"]) for e in derive(Detector(), "".join(lines))]


def test_same_number_in_group_and_job_means_rank_0():
    assert awaited(waits(3, 3), waits(5, 5)) == [(0, (3, 5))]


@pytest.mark.parametrize("others", [(waits(1, 5),), (waits(3, 3), waits(1, 5))])
def test_other_number_in_the_group_gives_nothing(others):
    assert awaited(*others) == []


def test_number_in_the_group_alone_counts_only_in_the_default_group():
    assert awaited(waits(3)) == []
    assert awaited(waits(3, keys=", keys: /default_pg/0//cuda//0")) == [(0, (3,))]

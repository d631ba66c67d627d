"""Scope, first mover and reporters of a culprit."""

from __future__ import annotations

import io

import pytest

from logdoctor import diagnose

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
WAIT = (
    "[rank{0}]:[E311 08:14:0{0}.118230411 ProcessGroupNCCL.cpp:629] [Rank {0}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=8123, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600031 "
    "milliseconds before timing out."
)


@pytest.fixture
def culprit_of(knowledge):
    def culprit_of(*lines):
        log = "\n".join(lines) + "\n"
        return diagnose(io.BytesIO(log.encode()), knowledge=knowledge).causes[0].culprit

    return culprit_of


def test_failure_of_all_ranks_sets_none_apart(culprit_of):
    culprit = culprit_of(*(f"[rank{rank}]: {OOM}" for rank in (1, 0, 2)))
    assert (culprit.scope, culprit.why, sorted(culprit.ranks)) == ("all", "all-alike", [0, 1, 2])


def test_failure_of_one_rank_stands_in_its_own_mouth(culprit_of):
    culprit = culprit_of("[rank0]: started", "[rank2]: started", f"[rank1]: {OOM}")
    assert (culprit.scope, culprit.why, culprit.ranks) == ("one", "own-mouth", (1,))


def test_first_in_one_file_is_told_by_order(culprit_of):
    culprit = culprit_of(f"[rank1]: {OOM}", f"[rank0]: {OOM}")
    assert culprit.first is not None
    assert (culprit.first.rank, culprit.first.by) == (1, "order")


def test_ranks_that_wait_only_report(culprit_of):
    culprit = culprit_of(*(WAIT.format(rank) for rank in (3, 5)))
    assert (culprit.scope, culprit.ranks, culprit.reporters.ranks) == ("not-told", (), (3, 5))


def test_list_of_ranks_has_no_cap_of_sixteen(culprit_of):
    culprit = culprit_of(*(f"[rank{rank}]: {OOM}" for rank in range(40)))
    assert len(culprit.ranks) == 40


def test_order_from_outside_is_nobodys(culprit_of):
    culprit = culprit_of(
        "slurmstepd: error: *** STEP 77120.0 ON trn03 CANCELLED AT 2025-03-04T11:50:15 DUE TO TIME LIMIT ***"
    )
    assert (culprit.scope, culprit.why, culprit.hosts) == ("nobody", "ordered", ())

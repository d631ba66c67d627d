"""Ranks that never came to the first barrier of a process group, and barriers with more processes than the world."""

from __future__ import annotations

from question_probe import derive

from logdoctor.model import Record
from logdoctor.reasoning.questions.waiting import store_barrier


def waits(rank: int, joined: int, world: int) -> str:
    return (
        f"INFO:torch.distributed.distributed_c10d:Waiting in store based barrier to initialize process group for rank: {rank}, "
        f"key: store_based_barrier_key:1 (world_size={world}, worker_count={joined}, timeout=0:30:00)\n"
    )


def derive_records(text: str) -> list[Record]:
    return derive(store_barrier, text)


def test_rank_that_does_not_wait_never_came() -> None:
    (record,) = derive_records("".join(waits(rank, 3, 4) for rank in (0, 3, 2)) + waits(0, 3, 4))
    assert record.fields["missing"] == (1,)
    assert (record.fields["joined"], record.fields["world"]) == (3, 4)


def test_more_joined_ranks_than_printed_give_nothing() -> None:
    assert not derive_records(2 * (waits(0, 3, 4) + waits(2, 3, 4)))


def test_short_wait_gives_nothing() -> None:
    assert not derive_records(waits(0, 2, 3) + waits(1, 2, 3))


def test_group_with_larger_ranks_gives_nothing() -> None:
    assert not derive_records(2 * (waits(4, 3, 4) + waits(5, 3, 4) + waits(6, 3, 4)))


def test_complete_barrier_gives_nothing() -> None:
    done = "INFO:torch.distributed.distributed_c10d:Rank 0: Completed store-based barrier for key:store_based_barrier_key:1 with 4 nodes.\n"
    assert not derive_records(2 * "".join(waits(rank, 3, 4) for rank in (0, 2, 3)) + done)


BARRIER = "Waiting in store based barrier to initialize process group for rank: 2, key: k (world_size={}, worker_count=4, timeout=0:30:00)"


def test_more_processes_than_the_world_size_are_reported() -> None:
    (found,) = derive_records(BARRIER.format(2))
    assert (found.kind, found.fields) == (
        "ledger.world_exceeded",
        {"rank": 2, "world": 2, "joined": 4, "excess": "twice"},
    )


def test_fewer_processes_than_the_world_size_give_nothing() -> None:
    assert derive_records(BARRIER.format(8)) == []

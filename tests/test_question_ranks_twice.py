"""Ranks that were told twice while others never came: each node takes itself for the first."""

from __future__ import annotations

import random

import pytest
from failing_job import diagnose_log


def told(knowledge, ranks: list[int], world: int) -> list[str]:
    lines = [f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/{world}" for rank in ranks]
    end = f"RuntimeError: Timed out initializing process group in store based barrier on rank: 0 (world_size={world}"
    return [cause.rule for cause in diagnose_log("\n".join([*lines, end]) + "\n", knowledge).causes]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("size", "nodes"), [(4, 2), (2, 2), (2, 4), (8, 2)])
def test_ranks_of_each_node_count_from_0(size: int, nodes: int, seed: int, knowledge) -> None:
    ranks = [*range(size)] * nodes
    chance = random.Random(seed)
    while len({*ranks[:size]}) == size:  # as after a restart
        chance.shuffle(ranks)
    assert told(knowledge, ranks, size * nodes) == ["rdzv.config-ranks-twice"]


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param([*range(4)] * 2, id="started again"),
        pytest.param([*range(8)], id="all came"),
        pytest.param([0, 0, 1, 1], id="half of the lines"),
        pytest.param([0, 0, 1, 2, 3, 4, 5, 6], id="one rank twice"),
    ],
)
def test_other_orders_tell_nothing(ranks: list[int], knowledge) -> None:
    assert "rdzv.config-ranks-twice" not in told(knowledge, ranks, 8)

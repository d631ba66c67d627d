"""Process groups: tensor, pipeline and data parallel ranks.

Ranks are numbered anew inside each group.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.cluster import Cluster, Rank

TENSOR, PIPELINE = 4, 2
NAMES = {
    "tensor": "TENSOR_MODEL_PARALLEL_GROUP",
    "pipeline": "PIPELINE_MODEL_PARALLEL_GROUP",
    "data": "DATA_PARALLEL_GROUP",
}


@dataclass(frozen=True)
class Group:
    """One process group.

    It has a number in the process, a key in the job, a name, and global ranks in order.
    """

    number: int
    key: int
    name: str
    members: tuple[int, ...]

    def place(self, rank: Rank) -> int:
        return self.members.index(rank.number)

    def others(self, cluster: Cluster, excluded: Rank) -> list[Rank]:
        return [cluster.ranks[n] for n in self.members if n != excluded.number]


def group_of(cluster: Cluster, rank: Rank, kind: str) -> Group:
    """Return the group of this kind with ``rank``. Megatron's order: tensor, data, pipeline."""
    n, size = rank.number, cluster.size
    stage = size // PIPELINE
    if kind == "tensor":
        first, step, count = n - n % TENSOR, 1, TENSOR
    elif kind == "data":
        first, step, count = n - n % stage + n % TENSOR, TENSOR, stage // TENSOR
    else:
        first, step, count = n % stage, stage, PIPELINE
    members = tuple(range(first, first + step * count, step))
    order = ("data", "tensor", "pipeline").index(kind)
    return Group(order + 1, order * size + members[0] + 1, NAMES[kind], members)

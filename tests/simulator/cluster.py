"""The machines and processes of a simulated job."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

BUSES = ("18000", "2a000", "3a000", "5d000", "9a000", "ab000", "ba000", "db000")
HOST_NAMES = ("node-{:03}", "gpu{:03}", "hgx-r{:02}", "trn-{:04}", "a3n{:03}")
START = datetime(2026, 3, 4, 9, 12, 7, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Rank:
    """One process. ``number`` is the global rank, ``bus`` its GPU as NCCL prints it, ``port`` its listening port."""

    number: int
    local: int
    node: int
    host: str
    pid: int
    bus: str
    address: str
    port: int


@dataclass
class Cluster:
    """Everything that stays the same during a job. ``skew`` is the clock offset of each host in seconds."""

    ranks: list[Rank]
    per_node: int
    hosts: list[str]
    torch: str
    nccl: str
    launcher: str
    network: str
    trainer: str
    jobid: int
    skew: dict[str, float] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.ranks)

    def on(self, host: str) -> list[Rank]:
        return [r for r in self.ranks if r.host == host]

    def agent_pid(self, host: str) -> int:
        return self.on(host)[0].pid - 61

    def moment(self, seconds: float, host: str) -> datetime:
        """Return the clock of ``host``, ``seconds`` after the job's start."""
        return START + timedelta(seconds=seconds + self.skew.get(host, 0.0))


def build_cluster(rng: random.Random, size: int, *, skew: float = 0.0) -> Cluster:
    """Return a cluster of ``size`` ranks, eight on a node."""
    per_node = min(8, size)
    name = rng.choice(HOST_NAMES)
    first = rng.randrange(1, 60)
    hosts = [name.format(first + i) for i in range(size // per_node)]
    pids = {h: rng.randrange(3000, 400000) for h in hosts}
    net = rng.randrange(10, 90)
    ranks = [
        Rank(
            n,
            n % per_node,
            n // per_node,
            (host := hosts[n // per_node]),
            pids[host] + 61 + n % per_node,
            BUSES[n % per_node],
            f"10.{net}.{n // per_node // 200}.{n // per_node % 200 + 11}",
            rng.randrange(32800, 60900),
        )
        for n in range(size)
    ]
    torch, nccl = rng.choice(
        (("2.1", "2.18.6"), ("2.4", "2.20.5"), ("2.6", "2.21.5"), ("2.7", "2.26.2"), ("2.9", "2.27.5"))
    )
    return Cluster(
        ranks,
        per_node,
        hosts,
        torch,
        nccl,
        rng.choice(("torchrun", "srun")),
        rng.choice(("IB", "Socket")),
        rng.choice(("megatron", "nanogpt", "titan", "deepspeed", "hf")),
        rng.randrange(10000, 9000000),
        {h: rng.uniform(-skew, skew) for h in hosts},
    )

"""Steps and batch scripts of a program that tokenises text, for experiments on Slurm."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bench import Bench
from experiment import Experiment
from slurm import Cluster, needs

TOKENIZE = ("/usr/bin/python3", "tokenize_shards.py")
STEP = "srun {} /usr/bin/python3 tokenize_shards.py {}"


def fault(kind: str, rank: int = 1, step: int = 5) -> dict[str, str]:
    """Return the environment variables that break the program; see programs/tokenize_shards.py."""
    return {"LAB_FAULT": kind, "LAB_RANK": str(rank), "LAB_STEP": str(step)}


def step(
    bench: Bench,
    *command: str,
    env: dict[str, str] | None = None,
    prepare: str = "true",
    on: Callable[[Cluster], dict[str, Any]] | None = None,
) -> None:
    """Run srun on the head node."""
    cluster = Cluster(bench)
    cluster.quietly(prepare)
    cluster.run("srun", *command, env=env or {}, on=on(cluster) if on else {})


def script(
    bench: Bench,
    text: str,
    *options: str,
    env: dict[str, str] | None = None,
    then: Callable[[Cluster, int], None] | None = None,
) -> None:
    """Submit a batch script, and call ``then`` when its third shard is done."""
    cluster = Cluster(bench)
    job = cluster.submit(text, *options, env=env)
    if job and then:
        cluster.wait_for(f"slurm-{job}.log", "shard 1")
        time.sleep(1)
        then(cluster, job)
    if job:
        cluster.wait(job)
    (bench.logs / "sbatch.log").unlink() if job else None


def slurm(
    case: str, label: str, title: str, story: str, run: Callable[[Bench], None], evidence: str = "", **more: Any
) -> Experiment:
    """Return an experiment on the cluster."""
    wants = more.pop("needs", needs())
    return Experiment(
        case=case,
        label=label,
        title=title,
        story=f"A small Slurm cluster has a head node and two nodes of four processors. {story}",
        run=run,
        needs=wants,
        evidence=tuple(evidence.split("|")) if evidence else (),
        seconds=110,
        **more,
    )


PARALLEL = "A program in Python tokenises text in several tasks."
LONG = "--shards 4000 --pause 0.4"

"""Faults of jobs whose ranks wait in groups smaller than the job."""

from __future__ import annotations

import dataclasses
import random

from simulator import torch_lines, training
from simulator.cluster import Rank
from simulator.faults import LOOP, MAIN
from simulator.groups import group_of
from simulator.job_output import JobOutput, Truth
from simulator.torch_lines import Work

SLOWER = ("collective.straggler", "collective.timeout")


def _work(rng: random.Random, op: str) -> Work:
    return Work(rng.randrange(40, 90000), op, rng.randrange(1, 4000) * 4096)


def _wait_for(job: JobOutput, rng: random.Random, late: Rank, begin: float, op: str, nearest: str) -> None:
    """Let all ranks wait for ``late``.

    Its ``nearest`` group waits in ``op``, the others in the reduction of gradients.
    """
    cluster = job.cluster
    nearest_group = group_of(cluster, late, nearest)
    first = dataclasses.replace(_work(rng, op), group=nearest_group)
    training.wait(job, rng, nearest_group.others(cluster, late), begin, first)
    seq = rng.randrange(40, 9000)
    numel = rng.randrange(8, 4000) * 4096
    excluded = {late.number, *nearest_group.members}
    waiting: dict[tuple[int, ...], list[Rank]] = {}
    for rank in cluster.ranks:
        if rank.number not in excluded:
            waiting.setdefault(group_of(cluster, rank, "data").members, []).append(rank)
    for ranks in waiting.values():
        group = group_of(cluster, ranks[0], "data")
        training.wait(job, rng, ranks, begin + rng.uniform(0.2, 2.0), Work(seq, "ALLREDUCE", numel, group))


def _late_without_reason(job: JobOutput, rng: random.Random, op: str, nearest: str) -> Truth:
    at = training.train(job, rng, training.start(job))
    late = rng.choice(job.cluster.ranks)
    _wait_for(job, rng, late, at + training.WAIT, op, nearest)
    lines = torch_lines.dump_signal(job.cluster, at + training.WAIT + 2, late, job.cluster.ranks[late.number ^ 1], 3, 3)
    if lines:
        job.rank(at + training.WAIT + 2, late, *lines)
    return Truth(frozenset(SLOWER), frozenset({late.number}), frozenset({late.host}), culprit_visible=False)


def tensor_late(job: JobOutput, rng: random.Random) -> Truth:
    """Keep a rank away from a collective of its tensor parallel group."""
    return _late_without_reason(job, rng, rng.choice(("ALLREDUCE", "_ALLGATHER_BASE")), "tensor")


def stage_late(job: JobOutput, rng: random.Random) -> Truth:
    """Keep a pipeline stage from sending to the next."""
    return _late_without_reason(job, rng, rng.choice(("RECV", "SEND", "COALESCED")), "pipeline")


def _exception_without_end(job: JobOutput, rng: random.Random, op: str, nearest: str) -> Truth:
    at = training.train(job, rng, training.start(job))
    rank = rng.choice(job.cluster.ranks)
    error = (
        "RuntimeError: The size of tensor a (4096) must match the size of tensor b (4095) at non-singleton dimension 1"
    )
    job.rank(at, rank, *torch_lines.exception(rank, job.cluster, (MAIN, LOOP), error))
    _wait_for(job, rng, rank, at + training.WAIT, op, nearest)
    return Truth(frozenset({"app.exception"}), frozenset({rank.number}), frozenset({rank.host}))


def tensor_dies(job: JobOutput, rng: random.Random) -> Truth:
    """Raise an exception on a rank of a tensor parallel group. The job is not ended."""
    return _exception_without_end(job, rng, "ALLREDUCE", "tensor")


def stage_dies(job: JobOutput, rng: random.Random) -> Truth:
    """Raise an exception on a rank of a pipeline stage. The job is not ended."""
    return _exception_without_end(job, rng, rng.choice(("RECV", "SEND")), "pipeline")


FAULTS = {f.__name__: f for f in (tensor_late, stage_late, tensor_dies, stage_dies)}

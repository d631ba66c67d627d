"""Jobs that run for minutes: healthy ones with pauses and noise, and hangs before the collective times out.

Unlike the faults of this package they are told with all lines of progress, since a watch goes by the time of lines.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from simulator import host_lines, layout, training
from simulator.cluster import Cluster, Rank, build_cluster
from simulator.job_output import JobOutput

TIMEOUT = 600.0
"""Seconds after which a collective that hangs is reported, by PyTorch's default."""
HANGS = ("behind", "others_wait", "saves", "one_prints")
NOISE = (
    "UserWarning: The given NumPy array is not writable, and PyTorch does not support non-writable tensors.",
    "WARNING:root:cannot find cached kernel, falling back to the default implementation",
    "node7:811:902 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.",
    "retrying request to object store after HTTP 503 (attempt 1 of 5)",
    "FutureWarning: torch.cuda.amp.autocast(args...) is deprecated.",
    "loss scaler reduced to 32768.0 because of a gradient overflow",
    "INFO checkpoint: skipping missing optimizer state of frozen layers",
)


@dataclass(frozen=True)
class LongRun:
    """The course of a job. A hang has a kind, the rank that hangs, and the time since when."""

    course: tuple[tuple[float, str, str], ...]
    kind: str = "healthy"
    rank: Rank | None = None
    since: float = 0.0


def healthy(seed: int, size: int) -> LongRun:
    """Return a job that trains, pauses to evaluate and to save, warns of this and that, and ends."""
    rng = random.Random(f"healthy {seed} {size}")
    job, place = _new_job(rng, size)
    prints_all, pace = rng.random() < 0.5, rng.choice((0.5, 1, 3, 8, 20))
    time, step = training.start(job), rng.randrange(1, 900) * 10
    first = job.cluster.ranks[0]
    for i in range(rng.randrange(40, 90)):
        _print_step(job, rng, time, step + i, prints_all=prints_all)
        time += pace * rng.uniform(0.8, 1.3)
        if rng.random() < 0.08:
            job.rank(time, rng.choice(job.cluster.ranks), rng.choice(NOISE))
        if i % 25 == 24:
            time = _pause(job, rng, time, first, pace)
    if rng.random() < 0.7:
        job.rank(time, first, rng.choice(("Training completed successfully.", "Done. Training finished.")))
    return LongRun(tuple(layout.timed(job, place, rng)))


def hang(seed: int, size: int, kind: str) -> LongRun:
    """Return a job of which one rank hangs. The course ends before the collective times out.

    ``behind``: it prints no step any more, the others one to three. ``others_wait``: they say that they wait.
    ``saves``: rank 0 saves a checkpoint. ``one_prints``: only one rank prints steps, so no line tells who hangs.
    """
    rng = random.Random(f"{kind} {seed} {size}")
    job, place = _new_job(rng, size, "ranks" if kind == "others_wait" else "")
    cluster, pace = job.cluster, rng.choice((0.5, 2, 8, 20))
    odd = cluster.ranks[0] if kind == "saves" else rng.choice(cluster.ranks)
    time, step = training.start(job), rng.randrange(1, 900) * 10
    for _ in range(rng.randrange(20, 60)):
        _print_step(job, rng, time, step, prints_all=kind != "one_prints")
        step, time = step + 1, time + pace * rng.uniform(0.9, 1.2)
    since = time
    if kind == "saves":
        job.rank(time, odd, f"saving checkpoint at iteration {step:7d} to /lustre/lm/run7 in torch_dist format")
    if kind in ("behind", "others_wait"):
        for _ in range(rng.randrange(1, 4)):
            _print_step(job, rng, time, step, prints_all=True, spared=odd)
            step, time = step + 1, time + pace
    if kind == "others_wait":
        for at in range(int(time) + 10, int(since + TIMEOUT), 20):
            for rank in training.others(cluster, (odd,)):
                job.rank(at + rank.local * 0.1, rank, f"step {step}/500000: waiting for gradients of other ranks")
    return LongRun(tuple(layout.timed(job, place, rng)), kind, odd, since)


def _new_job(rng: random.Random, size: int, place: str = "") -> tuple[JobOutput, str]:
    cluster = build_cluster(rng, size)
    return JobOutput(cluster), place or layout.choose_layout(rng, cluster)


def _print_step(
    job: JobOutput, rng: random.Random, time: float, step: int, *, prints_all: bool, spared: Rank | None = None
) -> None:
    cluster: Cluster = job.cluster
    for rank in cluster.ranks:
        line = host_lines.step_line(cluster, time, rank, step)
        if prints_all:
            line = f"[rank{rank.number}]: step {step}/500000 loss {2.0 + 9 / step:.4f} 1210 ms"
        if line and rank is not spared:
            job.rank(time + rng.uniform(0, 0.2), rank, line)


def _pause(job: JobOutput, rng: random.Random, time: float, rank: Rank, pace: float) -> float:
    """Let the job evaluate, save, or just stand for a while. Return the time at which it goes on."""
    kind = rng.choice(("evaluates", "saves", "stands"))
    if kind == "evaluates":
        job.rank(time, rank, "Running validation on 2048 batches")
        return time + rng.uniform(2, 200)
    if kind == "saves":
        job.rank(time, rank, "Saving checkpoint to /lustre/lm/run7/step4000.pt ...")
        return time + rng.uniform(2, 200)
    return time + min(50.0, pace * rng.uniform(2, 7))

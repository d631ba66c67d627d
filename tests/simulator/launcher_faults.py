"""Faults of jobs that Open MPI or Ray started."""

from __future__ import annotations

import random

from simulator import torch_lines, training
from simulator.cluster import Rank
from simulator.faults import LOOP, MAIN
from simulator.job_output import JobOutput, Truth

RULE = "-" * 74
ERROR = "ValueError: sample 88123 has 4097 tokens, at most 4096 are allowed"


def _start_under(job: JobOutput, rng: random.Random, launcher: str) -> tuple[Rank, float]:
    job.cluster.launcher = launcher
    at = training.train(job, rng, training.start(job))
    return rng.choice(job.cluster.ranks), at


def _truth(rank: Rank, *signatures: str) -> Truth:
    return Truth(frozenset(signatures), frozenset({rank.number}), frozenset({rank.host, rank.address}))


def mpi_killed(job: JobOutput, rng: random.Random) -> Truth:
    """End a rank under mpirun by a signal."""
    rank, at = _start_under(job, rng, "mpirun")
    number, name, signatures = rng.choice(
        (
            (9, "Killed", ("mpi.rank-died", "host.oom-kill")),
            (11, "Segmentation fault", ("mpi.rank-died", "app.segfault")),
        )
    )
    text = f"mpirun noticed that process rank {rank.number} with PID {rank.pid} on node {rank.host} exited on signal {number} ({name})."
    job.launcher(at + 1, RULE, text, RULE)
    return _truth(rank, *signatures)


def mpi_raises(job: JobOutput, rng: random.Random) -> Truth:
    """Raise an exception on a rank under mpirun."""
    rank, at = _start_under(job, rng, "mpirun")
    job.rank(at, rank, *torch_lines.exception(rank, job.cluster, (MAIN, LOOP), ERROR))
    first = (
        RULE,
        "Primary job  terminated normally, but 1 process returned",
        "a non-zero exit code. Per user-direction, the job has been aborted.",
        RULE,
        RULE,
        "mpirun detected that one or more processes exited with non-zero status, thus causing",
        "the job to be terminated. The first process to do so was:",
        "",
        f"  Process name: [[{job.cluster.jobid % 60000},1],{rank.number}]",
        "  Exit code:    1",
        RULE,
    )
    job.launcher(at + 1, *first)
    return _truth(rank, "app.exception")


def ray_raises(job: JobOutput, rng: random.Random) -> Truth:
    """Raise an exception on a worker of Ray. The driver prints it again."""
    rank, at = _start_under(job, rng, "ray")
    frames = torch_lines.exception(rank, job.cluster, (MAIN, LOOP), ERROR)
    if rng.random() < 0.5:
        job.rank(at, rank, *frames)
    lines = [line.removeprefix(f"[rank{rank.number}]: ") for line in frames]
    where = f"ray::RayTrainWorker.execute() (pid={rank.pid}, ip={rank.address}, actor_id=9d1c5a1e0b7f44c2a8f0c1d201000000, repr=<RayTrainWorker object at 0x7f3c1a2b4c10>)"
    head = (
        "Traceback (most recent call last):",
        '  File "/home/research/lm/launch.py", line 88, in <module>',
        "    result = trainer.fit()",
        f"ray.exceptions.RayTaskError(ValueError): {where}",
    )
    job.launcher(at + 2, *head, *lines[1:])
    return _truth(rank, "app.exception")


def ray_killed(job: JobOutput, rng: random.Random) -> Truth:
    """Kill a worker of Ray. Its peers lose the connection or wait."""
    rank, at = _start_under(job, rng, "ray")
    job.launcher(
        at + 1,
        f"(raylet, ip={rank.address}) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. RayTask ID: 16310a0f0a45af5cb2746b0e6efd235cda5d9cd401000000 Worker ID: 1c1bc5d2a0c1e4b7 Node ID: 5cf10a2d Worker IP address: {rank.address} Worker port: 10012 Worker PID: {rank.pid} Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.",
    )
    training.wait(job, rng, training.others(job.cluster, (rank,)), at + training.WAIT, training.next_work(rng))
    return _truth(rank, "collective.rank-died", "host.oom-kill")


FAULTS = {f.__name__: f for f in (mpi_killed, mpi_raises, ray_raises, ray_killed)}

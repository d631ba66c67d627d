"""The course of a simulated job: start, steps, reactions to a fault."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from simulator import host_lines, nccl_lines, torch_lines
from simulator.cluster import Cluster, Rank
from simulator.job_output import JobOutput
from simulator.torch_lines import Work

WAIT = torch_lines.TIMEOUT_MS / 1000
OPS = ("ALLREDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE")


def start(job: JobOutput) -> float:
    """Print the healthy start of all ranks. Return the time at which training begins."""
    cluster = job.cluster
    for rank in cluster.ranks:
        job.rank(3 + rank.local * 0.01, rank, *nccl_lines.hello(cluster, rank))
        job.rank(5 + rank.local * 0.01, rank, *nccl_lines.comm(cluster, rank))
    return 20.0


def train(job: JobOutput, rng: random.Random, begin: float, steps: int = 4) -> float:
    """Print ``steps`` steps. Return the time of the last."""
    first = rng.randrange(1, 900) * 10
    for i in range(steps):
        for rank in job.cluster.ranks:
            line = host_lines.step_line(job.cluster, begin + i * 12, rank, first + i * 10)
            if line:
                job.rank(begin + i * 12 + rank.local * 0.001, rank, line)
    return begin + steps * 12.0


def next_work(rng: random.Random) -> Work:
    """Return the collective in which the job will hang."""
    return Work(rng.randrange(40, 90000), rng.choice(OPS), rng.randrange(1, 4000) * 4096)


def end_rank(job: JobOutput, rng: random.Random, rank: Rank, time: float, code: int, how: str) -> None:
    """End ``rank``, with the reactions of launcher and peers.

    ``how`` is the end in Slurm's words, ``code`` the exit code.
    """
    cluster = job.cluster
    neighbours = [cluster.ranks[(rank.number + d) % cluster.size] for d in (1, -1)]
    torchrun = cluster.launcher == "torchrun"
    gone = set(cluster.on(rank.host)) if torchrun else {rank}
    if cluster.network == "Socket":
        for other in neighbours:
            if other not in gone:
                job.rank(time + 0.4, other, *nccl_lines.closed_by(cluster, time + 0.4, other, rank))
                last = f"socketProgress: Connection closed by remote peer {rank.host}.cluster.example<{rank.port}>"
                job.rank(time + 1.2, other, *torch_lines.remote_error(cluster, time + 1.2, other, last))
                gone.add(other)
    if torchrun:
        job.agent(time + 3, rank.host, torch_lines.summary(cluster, time + 3, rank, code))
        job.slurm(time + 9, f"srun: error: {rank.host}: task {rank.node}: Exited with exit code 1")
    else:
        job.slurm(time + 1, host_lines.task_exit(rank, how))
    if rng.random() < 0.4:
        _cancel_step(job, time + 12, rank.host)
    else:
        wait(job, rng, [r for r in cluster.ranks if r not in gone], time + WAIT, next_work(rng))


def _cancel_step(job: JobOutput, time: float, ended: str) -> None:
    """Let Slurm end the rest of the job step. The host ``ended`` has no processes left."""
    cluster = job.cluster
    job.slurm(time, f"srun: Terminating StepId={cluster.jobid}.0", host_lines.cancelled(cluster, time, "STEP"))
    if cluster.launcher == "torchrun":
        for host in [h for h in cluster.hosts if h != ended]:
            job.agent(time + 0.5, host, torch_lines.agent_signalled(cluster, time + 0.5, host))


def wait(job: JobOutput, rng: random.Random, waiting: Sequence[Rank], time: float, work: Work) -> bool:
    """Let all ``waiting`` ranks time out in ``work``. Often the first of a node ends the others.

    Return True if each of them reports its wait.
    """
    if not waiting:
        return False
    cluster = job.cluster
    ahead = rng.choice((0, 0, 2))
    all_report = rng.random() < 0.5
    first = rng.choice(waiting)
    by_host: dict[str, list[Rank]] = {}
    for rank in waiting:
        by_host.setdefault(rank.host, []).append(rank)
    for host, ranks in by_host.items():
        reporting = ranks if all_report else rng.sample(ranks, max(1, len(ranks) // 2))
        if first.host == host and first not in reporting:
            reporting = [first, *reporting]
        for rank in ranks:
            at = time + (0 if rank is first else rng.uniform(0.1, 1.5))
            if rank in reporting:
                job.rank(at, rank, *torch_lines.timed_out(cluster, at, rank, work, work.seq + ahead))
            else:
                counters = (
                    (work.seq + ahead, work.seq - 1) if work.group is None else (3, 3)
                )  # the line reports the default group
                lines = torch_lines.dump_signal(cluster, at, rank, first, *counters)
                if lines:
                    job.rank(at, rank, *lines)
        _report_abort(job, rng.choice(reporting), time + 8)
    return all_report


def _report_abort(job: JobOutput, rank: Rank, time: float) -> None:
    """Print the launcher's report after the watchdog ended ``rank``."""
    cluster = job.cluster
    if cluster.launcher == "torchrun":
        job.agent(time, rank.host, torch_lines.summary(cluster, time, rank, -6))
        job.slurm(time + 4, f"srun: error: {rank.host}: task {rank.node}: Exited with exit code 1")
    elif cluster.launcher == "srun":
        job.slurm(time, host_lines.task_exit(rank, "Aborted (core dumped)"))


def others(cluster: Cluster, excluded: Collection[Rank]) -> list[Rank]:
    return [r for r in cluster.ranks if r not in excluded]

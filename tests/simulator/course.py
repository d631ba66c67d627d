"""The course of a simulated job: start, steps, reactions to a fault."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from simulator import host_voice, nccl_voice, torch_voice
from simulator.book import Book
from simulator.cluster import Cluster, Rank
from simulator.torch_voice import Work

WAIT = torch_voice.TIMEOUT_MS / 1000
OPS = ("ALLREDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE")


def start(book: Book) -> float:
    """Print the healthy start of all ranks. Return the time at which training begins."""
    cluster = book.cluster
    for rank in cluster.ranks:
        book.rank(3 + rank.local * 0.01, rank, *nccl_voice.hello(cluster, rank))
        book.rank(5 + rank.local * 0.01, rank, *nccl_voice.comm(cluster, rank))
    return 20.0


def train(book: Book, rng: random.Random, begin: float, steps: int = 4) -> float:
    """Print ``steps`` steps. Return the time of the last."""
    first = rng.randrange(1, 900) * 10
    for i in range(steps):
        for rank in book.cluster.ranks:
            line = host_voice.step_line(book.cluster, begin + i * 12, rank, first + i * 10)
            if line:
                book.rank(begin + i * 12 + rank.local * 0.001, rank, line)
    return begin + steps * 12.0


def next_work(rng: random.Random) -> Work:
    """Return the collective in which the job will hang."""
    return Work(rng.randrange(40, 90000), rng.choice(OPS), rng.randrange(1, 4000) * 4096)


def end_rank(book: Book, rng: random.Random, rank: Rank, time: float, code: int, how: str) -> None:
    """End ``rank``, with the reactions of launcher and peers.

    ``how`` is the end in Slurm's words, ``code`` the exit code.
    """
    cluster = book.cluster
    neighbours = [cluster.ranks[(rank.number + d) % cluster.size] for d in (1, -1)]
    torchrun = cluster.launcher == "torchrun"
    gone = set(cluster.on(rank.host)) if torchrun else {rank}
    if cluster.network == "Socket":
        for other in neighbours:
            if other not in gone:
                book.rank(time + 0.4, other, *nccl_voice.closed_by(cluster, time + 0.4, other, rank))
                last = f"socketProgress: Connection closed by remote peer {rank.host}.cluster.example<{rank.port}>"
                book.rank(time + 1.2, other, *torch_voice.remote_error(cluster, time + 1.2, other, last))
                gone.add(other)
    if torchrun:
        book.agent(time + 3, rank.host, torch_voice.summary(cluster, time + 3, rank, code))
        book.slurm(time + 9, f"srun: error: {rank.host}: task {rank.node}: Exited with exit code 1")
    else:
        book.slurm(time + 1, host_voice.task_exit(rank, how))
    if rng.random() < 0.4:
        _cancel_step(book, time + 12, rank.host)
    else:
        wait(book, rng, [r for r in cluster.ranks if r not in gone], time + WAIT, next_work(rng))


def _cancel_step(book: Book, time: float, ended: str) -> None:
    """Let Slurm end the rest of the job step. The host ``ended`` has no processes left."""
    cluster = book.cluster
    book.slurm(time, f"srun: Terminating StepId={cluster.jobid}.0", host_voice.cancelled(cluster, time, "STEP"))
    if cluster.launcher == "torchrun":
        for host in [h for h in cluster.hosts if h != ended]:
            book.agent(time + 0.5, host, torch_voice.agent_signalled(cluster, time + 0.5, host))


def wait(book: Book, rng: random.Random, waiting: Sequence[Rank], time: float, work: Work) -> bool:
    """Let all ``waiting`` ranks time out in ``work``. Often the first of a node ends the others.

    Return True if each of them reports its wait.
    """
    if not waiting:
        return False
    cluster = book.cluster
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
                book.rank(at, rank, *torch_voice.timed_out(cluster, at, rank, work, work.seq + ahead))
            else:
                counters = (
                    (work.seq + ahead, work.seq - 1) if work.group is None else (3, 3)
                )  # the line reports the default group
                lines = torch_voice.dump_signal(cluster, at, rank, first, *counters)
                if lines:
                    book.rank(at, rank, *lines)
        _report_abort(book, rng.choice(reporting), time + 8)
    return all_report


def _report_abort(book: Book, rank: Rank, time: float) -> None:
    """Print the launcher's report after the watchdog ended ``rank``."""
    cluster = book.cluster
    if cluster.launcher == "torchrun":
        book.agent(time, rank.host, torch_voice.summary(cluster, time, rank, -6))
        book.slurm(time + 4, f"srun: error: {rank.host}: task {rank.node}: Exited with exit code 1")
    elif cluster.launcher == "srun":
        book.slurm(time, host_voice.task_exit(rank, "Aborted (core dumped)"))


def others(cluster: Cluster, excluded: Collection[Rank]) -> list[Rank]:
    return [r for r in cluster.ranks if r not in excluded]

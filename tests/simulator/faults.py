"""The faults. Each prints a job with the fault and returns the truth."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

from simulator import host_lines, nccl_lines, torch_lines, training
from simulator.cluster import Rank
from simulator.job_output import JobOutput, Truth
from simulator.torch_lines import Work

LOOP = ("/home/research/lm/pretrain.py", 412, "train_loop", "loss = step(model, batch)")
MAIN = ("/home/research/lm/pretrain.py", 655, "<module>", "main()")


def _random_rank(job: JobOutput, rng: random.Random) -> Rank:
    return rng.choice(job.cluster.ranks)


def _truth(rank: Rank, *signatures: str) -> Truth:
    return Truth(frozenset(signatures), frozenset({rank.number}), frozenset({rank.host}))


def oom_kill(job: JobOutput, rng: random.Random) -> Truth:
    """Let the kernel kill a process for lack of host memory."""
    at = training.train(job, rng, training.start(job))
    rank = _random_rank(job, rng)
    reporter = rng.choice(("kernel", "slurm", "both", "exit"))
    if reporter in ("kernel", "both"):
        job.kernel(at, rank.host, *host_lines.oom_kill(job.cluster, at, rank, cgroup=rng.random() < 0.5))
    training.end_rank(job, rng, rank, at, -9, "Out Of Memory" if reporter == "slurm" else "Killed")
    if reporter in ("slurm", "both"):
        job.slurm(at + 2, host_lines.slurm_oom(job.cluster))
    return _truth(rank, "host.oom-kill")


def _exception_on_one_rank(job: JobOutput, rng: random.Random, error: str, *signatures: str) -> Truth:
    at = training.train(job, rng, training.start(job))
    rank = _random_rank(job, rng)
    job.rank(at, rank, *torch_lines.exception(rank, job.cluster, (MAIN, LOOP), error))
    training.end_rank(job, rng, rank, at + 1, 1, "Exited with exit code 1")
    return _truth(rank, *signatures)


def exception(job: JobOutput, rng: random.Random) -> Truth:
    """Raise an exception on one rank."""
    error = rng.choice(
        (
            "ValueError: sample 88123 has 4097 tokens, at most 4096 are allowed",
            "KeyError: 'position_ids'",
            "IndexError: list index out of range",
            "AssertionError: expected 8 experts, found 7",
            "json.decoder.JSONDecodeError: Expecting ',' delimiter: line 1 column 5120 (char 5119)",
        )
    )
    return _exception_on_one_rank(job, rng, error, "app.exception")


def cuda_oom(job: JobOutput, rng: random.Random) -> Truth:
    """Use up the GPU memory of one rank."""
    name = "torch.OutOfMemoryError" if job.cluster.torch >= "2.4" else "torch.cuda.OutOfMemoryError"
    device = rng.randrange(8)
    text = f"{name}: CUDA out of memory. Tried to allocate 3.12 GiB. GPU {device} has a total capacity of 79.15 GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has 78.11 GiB memory in use. Of the allocated memory 74.90 GiB is allocated by PyTorch, and 1.77 GiB is reserved by PyTorch but unallocated."
    return _exception_on_one_rank(job, rng, text, "cuda.oom")


def disk_full(job: JobOutput, rng: random.Random) -> Truth:
    """Let one rank fail to write its shard."""
    return _exception_on_one_rank(
        job,
        rng,
        "OSError: [Errno 28] No space left on device: '/scratch/lm/ckpt/step_4000/shard.tmp'",
        "host.disk-full",
    )


def gpu_memory(job: JobOutput, rng: random.Random) -> Truth:
    """Report an uncorrectable ECC error in the driver and in the process."""
    at = training.train(job, rng, training.start(job))
    rank = _random_rank(job, rng)
    code, text = rng.choice(
        (
            (48, "DBE (double bit error) at 0x1f3a0"),
            (94, "Contained: CE User Channel (0x9). RST: No, D-RST: No"),
            (95, "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No"),
        )
    )
    job.kernel(at, rank.host, host_lines.xid(job.cluster, at, rank, code, text))
    error = (
        "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"
        if job.cluster.torch == "2.9"
        else "RuntimeError: CUDA error: uncorrectable ECC error encountered"
    )
    job.rank(at + 0.3, rank, *torch_lines.exception(rank, job.cluster, (MAIN, LOOP), error))
    training.end_rank(job, rng, rank, at + 1, 1, "Exited with exit code 1")
    return _truth(rank, "cuda.ecc")


def gpu_lost(job: JobOutput, rng: random.Random) -> Truth:
    """Let a GPU fall off the bus."""
    at = training.train(job, rng, training.start(job))
    rank = _random_rank(job, rng)
    job.kernel(at, rank.host, host_lines.xid(job.cluster, at, rank, 79, "GPU has fallen off the bus."))
    job.rank(
        at + 0.3,
        rank,
        *torch_lines.exception(rank, job.cluster, (MAIN, LOOP), "RuntimeError: CUDA error: unknown error"),
    )
    training.end_rank(job, rng, rank, at + 1, 1, "Exited with exit code 1")
    return _truth(rank, "cuda.fell-off-bus")


def segfault(job: JobOutput, rng: random.Random) -> Truth:
    """Crash a process in a native library."""
    at = training.train(job, rng, training.start(job))
    rank = _random_rank(job, rng)
    if rng.random() < 0.6:
        job.kernel(at, rank.host, host_lines.segfault(job.cluster, at, rank))
    if rng.random() < 0.6:
        stack = (
            "Fatal Python error: Segmentation fault",
            "",
            "Current thread 0x00007f3c1a2b4740 (most recent call first):",
            '  File "/home/research/lm/tokens.py", line 88 in encode',
            '  File "/home/research/lm/pretrain.py", line 412 in train_loop',
        )
        job.rank(at, rank, *stack)
    training.end_rank(job, rng, rank, at + 0.5, -11, "Segmentation fault (core dumped)")
    return _truth(rank, "app.segfault")


def preempted(job: JobOutput, rng: random.Random) -> Truth:
    """Let the scheduler take the nodes away."""
    cluster = job.cluster
    at = training.train(job, rng, training.start(job))
    job.slurm(at, host_lines.cancelled(cluster, at, rng.choice(("JOB", "STEP")), "PREEMPTION"))
    if cluster.launcher == "torchrun":
        for host in cluster.hosts:
            job.agent(at + 1, host, torch_lines.agent_signalled(cluster, at + 1, host))
    else:
        job.slurm(at + 2, *(host_lines.task_exit(r, "Terminated") for r in cluster.ranks[:4]))
    return Truth(frozenset({"job.preempted"}), hosts=frozenset(cluster.hosts[:1]), culprit_visible=False)


def _wait_for(job: JobOutput, rng: random.Random, rank: Rank, time: float, work: Work) -> bool:
    """Let all but ``rank`` wait for it. At the end the rank prints its progress (not in 2.1).

    Return True if the logs show the late rank.
    """
    cluster = job.cluster
    waiting = training.others(cluster, (rank,))
    all_report = training.wait(job, rng, waiting, time, work)
    lines = torch_lines.dump_signal(cluster, time + 0.8, rank, waiting[0], work.seq - 1, work.seq - 1)
    if lines:
        job.rank(time + 0.8, rank, *lines)
    return all_report or bool(lines)


def straggler_data(job: JobOutput, rng: random.Random) -> Truth:
    """Let rank 0 tokenise while the others wait at the first barrier."""
    cluster = job.cluster
    at = training.start(job)
    rank = cluster.ranks[0]
    what = rng.choice(("Map", "Tokenizing train split", "Grouping texts in chunks of 4096"))
    for done in (120000, 260000, 410000):
        job.rank(at + done / 1000, rank, host_lines.bar(what, done, 1800000, done / 1000))
    _wait_for(job, rng, rank, at + training.WAIT, Work(rng.randrange(2, 9), "ALLREDUCE", 1))
    return _truth(rank, "collective.straggler")


def straggler_save(job: JobOutput, rng: random.Random) -> Truth:
    """Let a rank write a checkpoint for longer than the others wait."""
    at = training.train(job, rng, training.start(job))
    rank = job.cluster.ranks[0]
    job.rank(
        at,
        rank,
        rng.choice(
            (
                "Saving model checkpoint to /lustre/lm/run7/checkpoint-4000",
                "saving checkpoint at iteration    4000 to /lustre/lm/run7 in torch_dist format",
                "Saving checkpoint to /lustre/lm/run7/step4000.pt ...",
            )
        ),
    )
    _wait_for(job, rng, rank, at + training.WAIT, training.next_work(rng))
    return _truth(rank, "collective.straggler")


def straggler_silent(job: JobOutput, rng: random.Random) -> Truth:
    """Delay a rank that prints no reason."""
    at = training.train(job, rng, training.start(job))
    rank = _random_rank(job, rng)
    is_visible = _wait_for(job, rng, rank, at + training.WAIT, training.next_work(rng))
    return dataclasses.replace(_truth(rank, "collective.straggler", "collective.timeout"), culprit_visible=is_visible)


def _time_out_apart(job: JobOutput, rng: random.Random, odd: Rank, own: Work, most: Work) -> Truth:
    """Let all ranks time out, ``odd`` in another work. If not all report it, no vote tells who is odd."""
    at = training.train(job, rng, training.start(job)) + training.WAIT
    all_report = training.wait(job, rng, training.others(job.cluster, (odd,)), at, most)
    job.rank(at + 0.7, odd, *torch_lines.timed_out(job.cluster, at + 0.7, odd, own, own.seq))
    return dataclasses.replace(_truth(odd, "collective.desync"), culprit_visible=all_report)


def desync_skipped(job: JobOutput, rng: random.Random) -> Truth:
    """Let a rank skip a collective. Its next collective has the number of the skipped one."""
    odd = _random_rank(job, rng)
    seq = rng.randrange(40, 90000)
    numel = rng.randrange(8, 4000) * 4096
    return _time_out_apart(job, rng, odd, Work(seq, "_ALLGATHER_BASE", numel // 8), Work(seq, "ALLREDUCE", numel))


def desync_size(job: JobOutput, rng: random.Random) -> Truth:
    """Let a rank bring another number of elements."""
    odd = _random_rank(job, rng)
    most = training.next_work(rng)
    return _time_out_apart(job, rng, odd, Work(most.seq, most.op, most.numel + 512), most)


def hang(job: JobOutput, rng: random.Random) -> Truth:
    """Let all ranks hang in the same collective without a reason."""
    at = training.train(job, rng, training.start(job))
    training.wait(job, rng, job.cluster.ranks, at + training.WAIT, training.next_work(rng))
    hosts = job.cluster.hosts if len(job.cluster.hosts) == 1 else ()  # naming the only host accuses no innocent
    return Truth(frozenset({"collective.timeout"}), hosts=frozenset(hosts), culprit_visible=False)


def link_down(job: JobOutput, rng: random.Random) -> Truth:
    """Break the path between two hosts. Requests of both sides fail."""
    cluster = job.cluster
    cluster.network = "IB"
    at = training.train(job, rng, training.start(job))
    first_host, second_host = rng.sample(cluster.hosts, 2) if len(cluster.hosts) > 1 else (cluster.hosts[0],) * 2
    pairs = list(zip(cluster.on(first_host), cluster.on(second_host), strict=True))[: rng.randrange(1, 5)]
    gone = []
    for a, b in pairs:
        for rank, peer in ((a, b), (b, a)):
            moment = at + rng.uniform(0, 0.5)
            job.rank(moment, rank, *nccl_lines.completion_error(cluster, moment, rank, peer))
            last = f"NET/IB: Got completion from peer {peer.address}<{peer.port}> with status=12 opcode=0 len=0 vendor err 129 (Send)"
            job.rank(moment + 1, rank, *torch_lines.remote_error(cluster, moment + 1, rank, last))
            gone.append(rank)
    training.wait(job, rng, training.others(cluster, gone), at + training.WAIT, training.next_work(rng))
    both = frozenset(r.number for h in (first_host, second_host) for r in cluster.on(h))
    return Truth(frozenset({"net.ib-completion"}), both, frozenset({first_host, second_host}))


def node_lost(job: JobOutput, rng: random.Random) -> Truth:
    """Crash a node. Slurm reports it, and requests of its neighbours get no answer."""
    cluster = job.cluster
    at = training.train(job, rng, training.start(job))
    host = rng.choice(cluster.hosts)
    job.slurm(
        at + 60,
        f"srun: error: Node failure on {host}",
        host_lines.cancelled(cluster, at + 60, "JOB", "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"),
    )
    ranks = cluster.on(host)
    for rank, peer in zip(
        cluster.on(cluster.hosts[(cluster.hosts.index(host) + 1) % len(cluster.hosts)]), ranks, strict=True
    ):
        if rank.host != host:
            error_lines = nccl_lines.completion_error if cluster.network == "IB" else nccl_lines.closed_by
            job.rank(at + 8, rank, *error_lines(cluster, at + 8, rank, peer))
    return Truth(frozenset({"host.node-failure"}), frozenset(r.number for r in ranks), frozenset({host}))


def wrong_interface(job: JobOutput, rng: random.Random) -> Truth:
    """Let a host offer the address of its container bridge."""
    cluster = job.cluster
    odd = rng.choice(cluster.hosts)
    for rank in cluster.ranks:
        docker = rank.host == odd
        lines = nccl_lines.hello(cluster, rank, *(("docker0", "172.17.0.1") if docker else ()))
        job.rank(3 + rank.local * 0.01, rank, *lines)
    why = rng.choice(("Connection refused", "No route to host", "Connection timed out"))
    for rank in cluster.ranks:
        if rank.host != odd and rank.local < 3:
            lines = nccl_lines.connect_failed(cluster, 40, rank, "172.17.0.1", rng.randrange(33000, 60000), why)
            job.rank(40 + rank.node * 0.01, rank, *lines)
    return Truth(
        frozenset({"net.wrong-interface"}),
        frozenset(r.number for r in cluster.on(odd)),
        frozenset({odd}),
        culprit_visible=False,
    )


FAULTS: dict[str, Callable[[JobOutput, random.Random], Truth]] = {
    f.__name__: f
    for f in (
        oom_kill,
        exception,
        cuda_oom,
        disk_full,
        gpu_memory,
        gpu_lost,
        segfault,
        preempted,
        straggler_data,
        straggler_save,
        straggler_silent,
        desync_skipped,
        desync_size,
        hang,
        link_down,
        node_lost,
        wrong_interface,
    )
}

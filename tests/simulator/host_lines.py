"""Lines as the kernel, Slurm and trainers print them."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.cluster import Cluster, Rank


def kernel(cluster: Cluster, time: float, host: str, text: str) -> str:
    """Return a line of the journal of ``host``."""
    at = cluster.moment(time, host)
    return f"{at:%b} {at.day:2} {at:%H:%M:%S} {host} kernel: {text}"


def oom_kill(cluster: Cluster, time: float, rank: Rank, *, cgroup: bool) -> Iterator[str]:
    """Yield the lines of the kernel's OOM killer."""
    scope = f"/slurm/uid_1207/job_{cluster.jobid}/step_0"
    kind = "constraint=CONSTRAINT_MEMCG" if cgroup else "constraint=CONSTRAINT_NONE"
    where = f"oom_memcg={scope}," if cgroup else "global_oom,"
    yield kernel(
        cluster, time, rank.host, "python3.10 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"
    )
    yield kernel(
        cluster,
        time,
        rank.host,
        f"oom-kill:{kind},nodemask=(null),cpuset=step_0,mems_allowed=0-1,{where}task_memcg={scope}/task_{rank.local},task=python3.10,pid={rank.pid},uid=1207",
    )
    head = "Memory cgroup out" if cgroup else "Out"
    yield kernel(
        cluster,
        time,
        rank.host,
        f"{head} of memory: Killed process {rank.pid} (python3.10) total-vm:912034120kB, anon-rss:240117832kB, file-rss:81204kB, shmem-rss:12044kB, UID:1207 pgtables:481200kB oom_score_adj:0",
    )


def xid(cluster: Cluster, time: float, rank: Rank, code: int, text: str) -> str:
    """Return the GPU driver's Xid line."""
    bus = f"0000:{int(rank.bus, 16) >> 12:02x}:00"
    return kernel(cluster, time, rank.host, f"NVRM: Xid (PCI:{bus}): {code}, pid={rank.pid}, name=python3.10, {text}")


def segfault(cluster: Cluster, time: float, rank: Rank) -> str:
    return kernel(
        cluster,
        time,
        rank.host,
        f"python3.10[{rank.pid}]: segfault at 18 ip 00007f3c1a2b4c10 sp 00007ffd10c2a0f0 error 4 in libtokenkit.so[7f3c1a200000+142000]",
    )


def slurm_oom(cluster: Cluster) -> str:
    return f"slurmstepd: error: Detected 1 oom_kill event in StepId={cluster.jobid}.0. Some of the step tasks have been OOM Killed."


def task_exit(rank: Rank, how: str) -> str:
    return f"srun: error: {rank.host}: task {rank.number}: {how}"


def cancelled(cluster: Cluster, time: float, what: str, why: str = "") -> str:
    step = f"{cluster.jobid}.0" if what == "STEP" else f"{cluster.jobid}"
    due = f" DUE TO {why}" if why else ""
    host = cluster.hosts[0]
    return f"slurmstepd: error: *** {what} {step} ON {host} CANCELLED AT {cluster.moment(time, host):%Y-%m-%dT%H:%M:%S}{due} ***"


def step_line(cluster: Cluster, time: float, rank: Rank, step: int) -> str | None:
    """Return the trainer's line about a step on ``rank``.

    Return None if that rank prints none.
    """
    at = cluster.moment(time, rank.host)
    loss = 2.0 + 9.0 / (step + 3)
    shape = cluster.trainer
    if shape == "titan":
        tag = "" if cluster.torch == "2.1" else f"[rank{rank.number}]:"
        return f"{tag}{at:%Y-%m-%d %H:%M:%S},{int(time * 1000) % 1000:03} - root - INFO - step: {step:2}  loss: {loss:7.4f}  memory: 41.22GiB(51.90%)  tps: 5,812  mfu: 38.11%"
    if shape == "megatron":
        text = f" [{at:%Y-%m-%d %H:%M:%S}] iteration {step:8}/  500000 | consumed samples: {step * 256:12} | elapsed time per iteration (ms): 1210.4 | learning rate: 1.500E-04 | global batch size:   256 | lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: 0.412 | number of skipped iterations:   0 | number of nan iterations:   0 |"
        return text if rank.number == cluster.size - 1 else None
    if rank.number:
        return None
    if shape == "nanogpt":
        return f"iter {step}: loss {loss:.4f}, time 1210.41ms, mfu 38.11%"
    if shape == "deepspeed":
        return f"[{at:%Y-%m-%d %H:%M:%S},{int(time * 1000) % 1000:03}] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=0, lr=[0.00015], mom=[(0.9, 0.95)]"
    return f"{{'loss': {loss:.4f}, 'grad_norm': 0.412, 'learning_rate': 0.00015, 'epoch': {step / 1000:.2f}}}"


def bar(what: str, done: int, total: int, seconds: float) -> str:
    """Return a tqdm bar that has stopped."""
    share = done / total
    full = int(share * 10)
    left = int(seconds / share - seconds)
    cells = "█" * full + " " * (10 - full)
    return f"{what}: {share * 100:3.0f}%|{cells}| {done}/{total} [{int(seconds) // 60:02}:{int(seconds) % 60:02}<{left // 60:02}:{left % 60:02}, {done / seconds:6.2f} examples/s]"

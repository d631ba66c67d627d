"""The output of a job in files, as sites collect logs.

Sites also lose logs.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from simulator.cluster import Cluster
from simulator.job_output import JobOutput, Output

LAYOUTS = ("ranks", "srun", "nodes", "merged", "mpirun", "ray")


def choose_layout(rng: random.Random, cluster: Cluster) -> str:
    """Choose a layout that this job could have."""
    # Labels of srun need srun. Lines without a label must name their rank, which PyTorch 2.1 does not do.
    if cluster.launcher in ("mpirun", "ray"):
        return cluster.launcher
    if cluster.launcher == "srun":
        return rng.choice(("ranks", "srun"))
    return rng.choice(("ranks", "nodes", "merged") if cluster.torch != "2.1" else ("ranks", "nodes"))


def files(course: Iterable[tuple[float, str, str]]) -> dict[str, str]:
    """Return the files of the job, name -> text."""
    texts: dict[str, list[str]] = {}
    for _, name, text in course:
        texts.setdefault(name, []).append(text)
    return {name: "".join(parts) for name, parts in sorted(texts.items())}


def timed(job: JobOutput, layout: str, rng: random.Random) -> Iterator[tuple[float, str, str]]:
    """Yield the time, the file and the text of each output, in the order of time."""
    outputs = sorted(job.outputs, key=lambda s: s.time)
    if layout in ("srun", "merged", "mpirun", "ray"):
        outputs = _interleave(outputs, rng)
    for part in outputs:
        name, lines = _place(part, layout, job.cluster)
        yield part.time, name, "".join(f"{line}\n" for line in lines)


def _interleave(outputs: Iterable[Output], rng: random.Random) -> list[Output]:
    """Mix the lines of processes that print at once. Each keeps its own order."""
    pieces = []
    for part in outputs:
        time = part.time
        for line in _records(part):
            pieces.append(Output(time, part.source, line))
            time += rng.random() * 0.002
    return sorted(pieces, key=lambda s: s.time)


def _records(part: Output) -> list[tuple[str, ...]]:
    """Split output into pieces. A traceback or summary stays whole, other lines are single."""
    if isinstance(part.source, int) and not any("Traceback" in line for line in part.lines[:1]):
        return [(line,) for line in part.lines]
    return [part.lines]


def _place(part: Output, layout: str, cluster: Cluster) -> tuple[str, Iterable[str]]:
    source = part.source
    job = f"slurm-{cluster.jobid}.out"
    if isinstance(source, str) and source.startswith("kernel:"):
        return f"journal-{source[7:]}.log", part.lines
    if layout == "merged" or source == "slurm":
        return job, part.lines
    if isinstance(source, str):
        return f"slurm-{cluster.jobid}-{source[6:]}.out", part.lines
    rank = cluster.ranks[source]
    if layout == "srun":
        width = len(str(cluster.size - 1))
        return job, (f"{source:{width}}: {line}" for line in part.lines)
    if layout == "mpirun":
        return job, (f"[1,{source}]<stderr>:{line}" for line in part.lines)
    if layout == "ray":
        return job, (f"(RayTrainWorker pid={rank.pid}, ip={rank.address}) {line}" for line in part.lines)
    if layout == "nodes":
        return f"slurm-{cluster.jobid}-{rank.host}.out", (f"[default{rank.local}]:{line}" for line in part.lines)
    return f"logs/rank_{source:05}.log", part.lines


def drop_logs(job: JobOutput, ranks: Iterable[int], hosts: Iterable[str] = (), *, slurm: bool = False) -> None:
    """Drop the logs of some ranks, hosts and Slurm.

    The logs of a host are those of its agent and its kernel.
    """
    lost = {
        *ranks,
        *(f"{program}:{h}" for h in hosts for program in ("agent", "kernel")),
        *(("slurm",) if slurm else ()),
    }
    job.outputs = [s for s in job.outputs if s.source not in lost]


def truncate(texts: dict[str, str], rng: random.Random) -> dict[str, str]:
    """Cut off the beginning of some files, within a line."""
    result = {}
    for name, text in texts.items():
        if name.startswith(("journal", "slurm")) or rng.random() < 0.7:
            result[name] = text
        else:
            result[name] = text[rng.randrange(0, len(text) // 3 + 1) :]
    return result

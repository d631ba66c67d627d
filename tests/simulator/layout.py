"""Sorts what a job prints into files, the way sites collect logs, and damages them the way sites lose them."""

from __future__ import annotations

import random
from collections.abc import Iterable

from simulator.book import Book, Said
from simulator.cluster import Cluster

LAYOUTS = ("ranks", "srun", "nodes", "merged", "mpirun", "ray")


def fitting(rng: random.Random, cluster: Cluster) -> str:
    """A layout that this job could have: labels of srun need srun, and bare lines need ranks in the lines themselves."""
    if cluster.launcher in ("mpirun", "ray"):
        return cluster.launcher
    if cluster.launcher == "srun":
        return rng.choice(("ranks", "srun"))
    return rng.choice(("ranks", "nodes", "merged") if cluster.torch != "2.1" else ("ranks", "nodes"))


def files(book: Book, layout: str, rng: random.Random) -> dict[str, str]:
    """The files of the job: name and text."""
    found: dict[str, list[str]] = {}
    said = sorted(book.said, key=lambda s: s.time)
    if layout in ("srun", "merged", "mpirun", "ray"):
        said = _interleaved(said, rng)
    for part in said:
        name, lines = _placed(part, layout, book.cluster)
        found.setdefault(name, []).extend(lines)
    return {name: "\n".join(lines) + "\n" for name, lines in sorted(found.items())}


def _interleaved(said: Iterable[Said], rng: random.Random) -> list[Said]:
    """Every line a piece of its own: what several processes print at once is mixed, each one's own order kept."""
    pieces = []
    for part in said:
        time = part.time
        for line in _records(part):
            pieces.append(Said(time, part.voice, line))
            time += rng.random() * 0.002
    return sorted(pieces, key=lambda s: s.time)


def _records(part: Said) -> list[tuple[str, ...]]:
    """A process writes a traceback or a summary in one go; other lines come one by one."""
    if isinstance(part.voice, int) and not any("Traceback" in line for line in part.lines[:1]):
        return [(line,) for line in part.lines]
    return [part.lines]


def _placed(part: Said, layout: str, cluster: Cluster) -> tuple[str, Iterable[str]]:
    voice = part.voice
    job = f"slurm-{cluster.jobid}.out"
    if isinstance(voice, str) and voice.startswith("kernel:"):
        return f"journal-{voice[7:]}.log", part.lines
    if layout == "merged" or voice == "slurm":
        return job, part.lines
    if isinstance(voice, str):
        return f"slurm-{cluster.jobid}-{voice[6:]}.out", part.lines
    rank = cluster.ranks[voice]
    if layout == "srun":
        width = len(str(cluster.size - 1))
        return job, (f"{voice:{width}}: {line}" for line in part.lines)
    if layout == "mpirun":
        return job, (f"[1,{voice}]<stderr>:{line}" for line in part.lines)
    if layout == "ray":
        return job, (f"(RayTrainWorker pid={rank.pid}, ip={rank.address}) {line}" for line in part.lines)
    if layout == "nodes":
        return f"slurm-{cluster.jobid}-{rank.host}.out", (f"[default{rank.local}]:{line}" for line in part.lines)
    return f"logs/rank_{voice:05}.log", part.lines


def without(book: Book, ranks: Iterable[int], hosts: Iterable[str] = (), *, slurm: bool = False) -> None:
    """Lose the logs of these ranks, of the agents and kernels of these hosts, and of Slurm."""
    lost = {*ranks, *(f"{who}:{h}" for h in hosts for who in ("agent", "kernel")), *(("slurm",) if slurm else ())}
    book.said = [s for s in book.said if s.voice not in lost]


def truncated(texts: dict[str, str], rng: random.Random) -> dict[str, str]:
    """The beginning of some files is lost, cut in the middle of a line."""
    out = {}
    for name, text in texts.items():
        if name.startswith(("journal", "slurm")) or rng.random() < 0.7:
            out[name] = text
        else:
            out[name] = text[rng.randrange(0, len(text) // 3 + 1) :]
    return out

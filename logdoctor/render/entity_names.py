"""Names of ranks, hosts and GPUs, equal in all formats."""

from __future__ import annotations

from collections.abc import Sequence

from logdoctor.model import Culprit, JobSummary, Location, Suspect
from logdoctor.render.catalogue import Catalogue

_MOST_NAMES = 4
_MOST_RANGES = 8


def ranges(numbers: Sequence[int], most: int = _MOST_RANGES) -> str:
    """Return numbers as ranges: ``0-511,513-1023``.

    If there are more than ``most`` ranges, only the first and the last are named: ``0,2,4,…,38``.
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    return ",".join(texts if len(texts) <= most else [*texts[: most - 2], "…", texts[-1]])


def location_name(named: Location, words: Catalogue) -> str:
    """Return the culprit or the place as a text like "rank 12 on gpu-b07". If it names nobody, it is ""."""
    ranks, hosts = rank_names(named.ranks, words), host_names(named.hosts, words)
    name = words("who.on", ranks=ranks, hosts=hosts) if ranks and hosts else ranks or hosts
    gpus = words("gpu", names=", ".join(map(_gpu_name, named.gpus[:_MOST_NAMES]))) if named.gpus else ""
    peers = words("peer", names=", ".join(named.peers[:_MOST_NAMES])) if named.peers and not name else ""
    return words("joint").join(part for part in (name, gpus, peers) if part)


def process_name(culprit: Culprit, words: Catalogue) -> str:
    """Return a text like "rank 12 on gpu-b07, GPU 4, pid 51240".

    It is "whole job" for an order from outside, and "all ranks" if all failed alike.
    """
    name = location_name(culprit, words)
    pids = f"pid {culprit.pids[0]}" if len(culprit.pids) == 1 and culprit.pids[0] else ""
    if name:
        return words("joint").join(part for part in (name, pids) if part)
    return {"nobody": words("whole.job"), "all": words("all.ranks")}.get(culprit.scope, "")


def place_name(place: Location, words: Catalogue) -> str:
    """Return "seen on rank 12 on gpu-b07" for the place of a failure, which is not blamed."""
    name = location_name(place, words)
    return words("seen.on", who=name) if name else ""


def place_column(ranks: Sequence[int], hosts: Sequence[str]) -> str:
    """Return the place as one word for programs: ``12@gpu-b07``, ``12`` or ``@gpu-b07``."""
    return ranges(ranks) + ("@" + ",".join(dict.fromkeys(hosts)) if hosts else "")


def _gpu_name(gpu: str) -> str:
    """Return the ordinal of ``host:3``, because the host stands beside it. A bus id stays."""
    _, _, ordinal = gpu.rpartition(":")
    return ordinal if gpu.count(":") == 1 and ordinal.isdecimal() and "." not in ordinal else gpu


def suspect_name(suspect: Suspect, words: Catalogue) -> str:
    """Return a text like "rank 5 on gpu-a02, pid 30517"."""
    ranks = () if suspect.rank is None else (suspect.rank,)
    name = location_name(Location(ranks, (suspect.host,) if suspect.host else ()), words)
    return words("joint").join([name, f"pid {suspect.pid}"] if suspect.pid is not None else [name])


def rank_names(ranks: Sequence[int], words: Catalogue) -> str:
    """Return "rank 3", "ranks 3,5" or "12 ranks (0-11)". No ranks give ""."""
    if not ranks:
        return ""
    if len(ranks) > _MOST_NAMES:
        return words("ranks.many", n=f"{len(ranks):,}", ranks=ranges(ranks))
    return words("rank.1" if len(ranks) == 1 else "rank.n", ranks=ranges(ranks))


def rank_count(job: JobSummary, words: Catalogue) -> str:
    """Return "16 ranks" or "6 of 8 ranks".

    If the logs do not tell the number, the text is "6 ranks seen", because other ranks may be silent.
    """
    number, expected = len(job.ranks_seen), job.ranks_expected
    if expected and 0 < number < expected:
        return words("job.ranks.of", seen=f"{number:,}", expected=f"{expected:,}")
    if expected:
        return words.count("rankcount", expected)
    return words.count("ranksheard", number) if number else ""


def host_names(hosts: Sequence[str], words: Catalogue) -> str:
    """Return "n1, n2" or "128 hosts (n1 … n128)"."""
    if len(hosts) <= _MOST_NAMES:
        return ", ".join(hosts)
    return f"{words('hosts.many', n=f'{len(hosts):,}')} ({hosts[0]} … {hosts[-1]})"

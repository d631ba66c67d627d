"""Ranks, hosts and GPUs in words, the same in every format."""

from __future__ import annotations

from collections.abc import Sequence

from logdoctor.model import Culprit, JobPicture
from logdoctor.render.catalogue import Catalogue

_FEW_HOSTS = 4
_MANY_RANGES = 8


def ranges(numbers: Sequence[int], most: int = _MANY_RANGES) -> str:
    """Give ``0-511,513-1023``; of more than ``most`` runs the first ones and the last one."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [str(a) if a == b else f"{a}-{b}" for a, b in runs]
    return ",".join(texts if len(texts) <= most else [*texts[: most - 2], "…", texts[-1]])


def who_is(culprit: Culprit, words: Catalogue) -> str:
    """Give "rank 12 on gpu-b07" and the like; "" where the log doesn't say."""
    ranks, hosts = ranks_in_words(culprit.ranks, words), hosts_in_words(culprit.hosts, words)
    who = words("who.on", ranks=ranks, hosts=hosts) if ranks and hosts else ranks or hosts
    gpus = words("gpu", names=", ".join(culprit.gpus[:_FEW_HOSTS])) if culprit.gpus else ""
    peers = words("peer", names=", ".join(culprit.peers[:_FEW_HOSTS])) if culprit.peers and not who else ""
    return words("joint").join(part for part in (who, gpus, peers) if part)


def who_to_drain(culprit: Culprit, words: Catalogue) -> str:
    """Give what is taken out of the cluster: hosts and GPUs, where known, and not ranks."""
    hardware = Culprit(hosts=culprit.hosts, gpus=culprit.gpus, peers=culprit.peers)
    return who_is(hardware, words) or who_is(culprit, words)


def ranks_in_words(ranks: Sequence[int], words: Catalogue) -> str:
    """Give "rank 3", "ranks 3,5", or of many how many and which; "" for none."""
    if not ranks:
        return ""
    if len(ranks) > _FEW_HOSTS:
        return words("ranks.many", n=f"{len(ranks):,}", ranks=ranges(ranks))
    return words("rank.1" if len(ranks) == 1 else "rank.n", ranks=ranges(ranks))


def ranks_counted(picture: JobPicture, words: Catalogue) -> str:
    """Say how many ranks there are; where the logs do not tell it, how many were seen, for others may be silent."""
    seen, expected = len(picture.ranks_seen), picture.ranks_expected
    if expected and 0 < seen < expected:
        return words("job.ranks.of", seen=f"{seen:,}", expected=f"{expected:,}")
    if expected:
        return words.count("rankcount", expected)
    return words.count("ranksheard", seen) if seen else ""


def hosts_in_words(hosts: Sequence[str], words: Catalogue) -> str:
    """Give the names of a few hosts, of many how many and the first and last name."""
    if len(hosts) <= _FEW_HOSTS:
        return ", ".join(hosts)
    return f"{words('hosts.many', n=f'{len(hosts):,}')} ({hosts[0]} … {hosts[-1]})"

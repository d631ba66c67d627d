"""Known facts of a job: ranks, hosts, layout, launcher, versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from logdoctor.model import HostClock, JobSummary
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.entity_names import ranges, rank_count, rank_names

_MOST_HOSTS, _MOST_GROUPS, _MOST_CLOCKS = 24, 6, 2


def job_facts(job: JobSummary, words: Catalogue) -> tuple[tuple[str, str], ...]:
    """Return pairs like ``("Launcher", "torchrun")``. Unknown facts are left out."""
    differing = {product for product, _, _ in job.versions_apart}
    facts = (
        ("fact.ranks", rank_count(job, words)),
        ("fact.hosts", _some(job.hosts, _MOST_HOSTS, words)),
        ("fact.layout", _layout(job, words)),
        ("fact.launcher", job.launcher or ""),
        (
            "fact.versions",
            ", ".join(f"{product} {version}" for product, version in job.versions if product not in differing),
        ),
        ("fact.apart", words("joint").join(differing_versions(job, words))),
        ("fact.groups", _groups(job, words)),
        ("fact.clocks", words("joint").join(_clocks(job.clocks, words))),
        ("fact.attempts", words.count("attempt", job.attempts)),
        ("fact.end", words("cut") if job.truncated else ""),
    )
    return tuple((words(key), value) for key, value in facts if value)


def differing_versions(job: JobSummary, words: Catalogue) -> Iterable[str]:
    """Yield texts like "NCCL 2.18.6 on rank 2". Only versions that differ between ranks are named."""
    for product, version, ranks in job.versions_apart:
        yield words("versions.apart", product=product, version=version, who=rank_names(ranks, words))


def _clocks(clocks: Sequence[HostClock], words: Catalogue) -> Iterable[str]:
    """Yield texts on the largest clock differences. Each names the host that is ahead first."""
    for clock in sorted(clocks, key=lambda clock: -abs(clock.ahead))[:_MOST_CLOCKS]:
        host, of = (clock.host, clock.of) if clock.ahead > 0 else (clock.of, clock.host)
        count = words.count("clock.event", clock.records)
        yield words("clock.ahead", host=host, of=of, seconds=f"{abs(clock.ahead):,.0f}", events=count)
    if len(clocks) > _MOST_CLOCKS:
        yield words("clock.more", n=len(clocks) - _MOST_CLOCKS)


def _layout(job: JobSummary, words: Catalogue) -> str:
    if not job.nodes and not job.ranks_per_node:
        return ""
    return words("layout", nodes=job.nodes or "?", each=job.ranks_per_node or "?")


def _groups(job: JobSummary, words: Catalogue) -> str:
    names = [
        words("fact.group", name=group.name, size=group.size or len(group.ranks), ranks=ranges(group.ranks, 3))
        for group in job.groups
    ]
    return _some(names, _MOST_GROUPS, words)


def _some(names: Iterable[str], most: int, words: Catalogue) -> str:
    """Join the first ``most`` names and count the rest: "… and 3 more"."""
    every = tuple(names)
    first = words("joint").join(every[:most])
    return first if len(every) <= most else f"{first}{words('joint')}{words('more', n=f'{len(every) - most:,}')}"

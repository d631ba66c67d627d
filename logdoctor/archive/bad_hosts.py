"""Find hosts and GPUs that fail more often than chance explains ("lemons").

The expected failures of a host are its number of jobs times the failure rate of all other hosts.  A Poisson test gives
the probability of at least so many failures by chance.  Holm's method corrects this probability for the number of
hosts.  So 19 of 20 healthy fleets have no bad host.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from logdoctor.archive.record import JobRecord, end_time
from logdoctor.reasoning.verdict.decision import OWN_FAULT

ALPHA = 0.05
"""Probability that a host of a healthy fleet is reported."""
MIN_FAILURES = 3
"""A host needs at least so many failures, because two jobs may report the same failure."""


class BadHost(Struct, frozen=True):
    """A host, or a GPU (``node7 GPU 3``), with too many failures.

    ``failures`` of its ``jobs`` name it as the culprit, but only ``expected`` would be usual.  ``chance`` is the
    corrected probability that a host of a healthy fleet has so many failures.  ``first`` and ``last`` are the ends of
    the first and the last of these jobs.
    """

    name: str
    failures: int
    jobs: int
    expected: float
    chance: float
    examples: tuple[str, ...]
    signatures: tuple[tuple[str, int], ...]
    first: float = 0.0
    last: float = 0.0
    decisions: tuple[tuple[str, int], ...] = ()

    @property
    def host(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def gpu(self) -> str:
        """The GPU, "" for a whole host."""
        return self.name.partition(" GPU ")[2]


class HostCounter:
    """Counts the jobs and the failures of each host and GPU."""

    def __init__(self) -> None:
        self._jobs: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._signatures: dict[str, Counter[str]] = {}
        self._decisions: dict[str, Counter[str]] = {}
        self._times: dict[str, tuple[float, float]] = {}

    def add(self, record: JobRecord) -> None:
        present, blamed = set(_present(record)), set(_blamed(record))
        self._jobs.update(present | blamed)
        self._failures.update(blamed)
        for name in blamed:
            self._examples.setdefault(name, []).append(record.job)
            self._signatures.setdefault(name, Counter())[record.signature] += 1
            self._decisions.setdefault(name, Counter())[record.decision] += 1
            ended = end_time(record)
            first, last = self._times.get(name, (ended, ended))
            self._times[name] = min(first, ended), max(last, ended)

    def bad_hosts(self) -> list[BadHost]:
        """Return the bad hosts and GPUs, sorted by chance. Hosts are compared with hosts, GPUs with GPUs."""
        return sorted((*self._test(gpus=False), *self._test(gpus=True)), key=lambda host: (host.chance, host.name))

    def _test(self, *, gpus: bool) -> Iterator[BadHost]:
        names = [name for name in self._jobs if (" " in name) is gpus]
        all_jobs, all_failures = sum(self._jobs[n] for n in names), sum(self._failures[n] for n in names)
        tested = list[tuple[float, float, str]]()
        for name in names:
            failures, jobs = self._failures[name], self._jobs[name]
            if failures >= MIN_FAILURES and all_jobs > jobs:
                expected = jobs * max(all_failures - failures, 1) / (all_jobs - jobs)
                tested.append((poisson_tail(failures, expected), expected, name))
        corrected = 0.0
        for place, (chance, expected, name) in enumerate(sorted(tested)):
            corrected = max(corrected, min(1.0, chance * (len(names) - place)))  # Holm: probabilities never decrease
            if corrected < ALPHA:
                yield self._bad_host(name, expected, corrected)

    def _bad_host(self, name: str, expected: float, chance: float) -> BadHost:
        signatures, decisions = _most_first(self._signatures[name]), _most_first(self._decisions[name])
        examples = tuple(sorted(self._examples[name]))
        counts = self._failures[name], self._jobs[name], expected, chance
        return BadHost(name, *counts, examples, signatures, *self._times[name], decisions)


def _most_first(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def poisson_tail(count: int, mean: float) -> float:
    """Return the probability of at least ``count`` events where ``mean`` are expected."""
    if count <= mean:  # the other events are the fewer terms
        return max(0.0, 1.0 - math.fsum(_poisson(n, mean) for n in range(count)))
    total, term = 0.0, _poisson(count, mean)
    while total + term > total:
        total += term
        count += 1
        term *= mean / count
    return total


def _poisson(count: int, mean: float) -> float:
    """Return the probability of exactly ``count`` events."""
    return math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))


def blamed_hosts(record: JobRecord) -> tuple[str, ...]:
    """Return the hosts that may be at fault. A fault of the job itself only took place on the host of its rank."""
    return () if record.signature.partition(".")[0] in OWN_FAULT else record.hosts


def _present(record: JobRecord) -> Iterator[str]:
    """Yield the hosts and GPUs of a job that its logs name."""
    yield from record.nodes
    for row in record.rank_table:
        if row.host:
            yield row.host
            if row.gpu:
                yield f"{row.host} GPU {row.gpu}"


def _blamed(record: JobRecord) -> Iterator[str]:
    """Yield the culprit hosts and GPUs of the first cause.

    Yields none if the cause is a fault of the job itself, for example an exception of its program.
    """
    if record.verdict != "failed":
        return
    yield from blamed_hosts(record)
    for row in record.rank_table:
        if row.role == "culprit" and row.host in blamed_hosts(record) and row.gpu and record.gpus:
            yield f"{row.host} GPU {row.gpu}"

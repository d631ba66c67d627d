"""Lemons: hosts and GPUs that are culprit more often than the number of jobs they took part in explains.

For each one the expected number of failures is its share of all takings-part times what the others of the fleet suffer.
The chance of at least so many failures by accident (Poisson) is corrected for how many were looked at (Holm's method),
so that in nineteen of twenty healthy fleets nobody is accused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from logdoctor.reasoning.decision import OWN_FAULT
from logdoctor.scan.record import JobRecord

ALPHA = 0.05
"""The chance that a healthy fleet has anybody accused."""
FEWEST = 3
"""So many failures there must be: two may be the same one told twice."""


class Lemon(Struct, frozen=True):
    """A host (or ``host GPU``) under suspicion.

    ``failures`` of the ``jobs`` that it took part in are laid at its door, where ``expected`` would be usual;
    ``chance`` is how likely somebody of a healthy fleet would look as bad (corrected).
    """

    name: str
    failures: int
    jobs: int
    expected: float
    chance: float
    examples: tuple[str, ...]
    signatures: tuple[tuple[str, int], ...]


class Exposure:
    """Counts who took part in jobs and who was named as culprit; feed it the records of a scan."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self._jobs: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._signatures: dict[str, Counter[str]] = {}

    def add(self, record: JobRecord) -> None:
        """Count one job."""
        present, blamed = set(_present(record)), set(_blamed(record))
        self._jobs.update(present | blamed)
        self._failures.update(blamed)
        for name in blamed:
            self._examples.setdefault(name, []).append(record.job)
            self._signatures.setdefault(name, Counter())[record.signature] += 1

    def lemons(self) -> list[Lemon]:
        """Those who are culprit too often, the worst first; hosts among hosts, GPUs among GPUs."""
        return sorted((*self._of(gpus=False), *self._of(gpus=True)), key=lambda lemon: (lemon.chance, lemon.name))

    def _of(self, *, gpus: bool) -> Iterator[Lemon]:
        from scipy.stats import poisson

        names = [name for name in self._jobs if (" " in name) is gpus]
        jobs, failures = sum(self._jobs[n] for n in names), sum(self._failures[n] for n in names)
        tested = list[tuple[float, float, str]]()
        for name in names:
            own, taken = self._failures[name], self._jobs[name]
            if own >= FEWEST and jobs > taken:
                expected = taken * max(failures - own, 1) / (jobs - taken)
                tested.append((float(poisson.sf(own - 1, expected)), expected, name))
        worst = 0.0
        for place, (chance, expected, name) in enumerate(sorted(tested)):
            worst = max(worst, min(1.0, chance * (len(names) - place)))  # Holm: the chances only rise
            if worst < ALPHA:
                yield self._lemon(name, expected, worst)

    def _lemon(self, name: str, expected: float, chance: float) -> Lemon:
        most = sorted(self._signatures[name].items(), key=lambda item: (-item[1], item[0]))
        examples = tuple(sorted(self._examples[name]))
        return Lemon(name, self._failures[name], self._jobs[name], expected, chance, examples, tuple(most))


def lemons(records: Iterable[JobRecord]) -> list[Lemon]:
    """The lemons of a scan."""
    exposure = Exposure()
    for record in records:
        exposure.add(record)
    return exposure.lemons()


def _present(record: JobRecord) -> Iterator[str]:
    """The hosts of a job and their GPUs, as far as its logs name them."""
    yield from record.nodes
    for row in record.rank_table:
        if row.host:
            yield row.host
            if row.gpu:
                yield f"{row.host} GPU {row.gpu}"


def _blamed(record: JobRecord) -> Iterator[str]:
    """Whom the first cause of a job names; nobody where the job failed by its own doing."""
    if record.verdict != "failure" or record.signature.partition(".")[0] in OWN_FAULT:
        return
    yield from record.hosts
    for row in record.rank_table:
        if row.role == "culprit" and row.host in record.hosts and row.gpu and record.gpus:
            yield f"{row.host} GPU {row.gpu}"

"""What a job prints, before it is sorted into files: who says what, and when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from simulator.cluster import Cluster, Rank


@dataclass(frozen=True)
class Said:
    """Lines printed in one go.  ``voice``: a rank's number, ``agent:HOST``, ``kernel:HOST`` or ``slurm``."""

    time: float
    voice: int | str
    lines: tuple[str, ...]
    stderr: bool = True


@dataclass(frozen=True)
class Truth:
    """What really happened: any of these signatures is right, and who is guilty.

    ``ranks`` and ``hosts`` empty: nobody is.  ``why_told``, ``who_told``: the logs show the cause, and who it was; where
    they do not tell who it was, naming nobody is right, and naming somebody else is not.
    """

    signatures: frozenset[str]
    ranks: frozenset[int] = frozenset()
    hosts: frozenset[str] = frozenset()
    why_told: bool = True
    who_told: bool = True


@dataclass
class Book:
    """Everything that a job prints, in no order."""

    cluster: Cluster
    said: list[Said] = field(default_factory=list)

    def rank(self, time: float, who: Rank, *lines: str) -> None:
        self.said.append(Said(time, who.number, lines))

    def agent(self, time: float, host: str, lines: Iterable[str]) -> None:
        self.said.append(Said(time, f"agent:{host}", tuple(lines)))

    def kernel(self, time: float, host: str, *lines: str) -> None:
        self.said.append(Said(time, f"kernel:{host}", lines))

    def slurm(self, time: float, *lines: str) -> None:
        self.said.append(Said(time, "slurm", lines))

    def launcher(self, time: float, *lines: str) -> None:
        """What mpirun or the driver of Ray prints: in one go, and into the file of the job."""
        self.slurm(time, *lines)

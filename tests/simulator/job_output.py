"""The output of a job before it is sorted into files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from simulator.cluster import Cluster, Rank


@dataclass(frozen=True)
class Output:
    """Lines printed in one go. ``source``: a rank's number, ``agent:HOST``, ``kernel:HOST`` or ``slurm``."""

    time: float
    source: int | str
    lines: tuple[str, ...]
    stderr: bool = True


@dataclass(frozen=True)
class Truth:
    """The truth about a fault: its correct signatures, and the culprits.

    Empty ``ranks`` and ``hosts``: there is no culprit. ``cause_visible`` and ``culprit_visible``: the logs show the cause and the
    culprit. If they do not show the culprit, a diagnosis may name none, but no other rank or host.
    """

    signatures: frozenset[str]
    ranks: frozenset[int] = frozenset()
    hosts: frozenset[str] = frozenset()
    cause_visible: bool = True
    culprit_visible: bool = True


@dataclass
class JobOutput:
    """All output of a job, unsorted."""

    cluster: Cluster
    outputs: list[Output] = field(default_factory=list)

    def rank(self, time: float, sender: Rank, *lines: str) -> None:
        self.outputs.append(Output(time, sender.number, lines))

    def agent(self, time: float, host: str, lines: Iterable[str]) -> None:
        self.outputs.append(Output(time, f"agent:{host}", tuple(lines)))

    def kernel(self, time: float, host: str, *lines: str) -> None:
        self.outputs.append(Output(time, f"kernel:{host}", lines))

    def slurm(self, time: float, *lines: str) -> None:
        self.outputs.append(Output(time, "slurm", lines))

    def launcher(self, time: float, *lines: str) -> None:
        """Add output of mpirun or Ray's driver to the job's file."""
        self.slurm(time, *lines)

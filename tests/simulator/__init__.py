"""A job that never ran: the logs of N ranks in the true formats, with one injected fault, and the truth about it.

`simulate` gives the same files for the same seed.  All names, numbers and addresses are invented.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from dataclasses import dataclass

from logdoctor.model import Diagnosis
from simulator import faults, group_faults, launcher_faults, layout
from simulator.book import Book, Truth
from simulator.cluster import build

__all__ = ["FAULTS", "Grade", "Simulated", "grade", "simulate"]

FAULTS = {**faults.FAULTS, **group_faults.FAULTS, **launcher_faults.FAULTS}
SURE = 0.6
"""An answer with more confidence than that is a confident one."""


@dataclass(frozen=True)
class Simulated:
    """The files of a job (name and text), what really happened, how its logs were collected, and how far clocks are off."""

    files: Mapping[str, str]
    truth: Truth
    how: str
    skew: Mapping[str, float]


def simulate(seed: int, fault: str, size: int, *, harm: str = "") -> Simulated:
    """A job of ``size`` ranks with this fault.

    ``harm``: "missing" (a tenth of the ranks' logs are lost and clocks are up to 30 s off), "culprit" (nothing of the
    culprit's node is there), "cut" (files begin late), or nothing.
    """
    rng = random.Random(f"{seed} {fault} {size} {harm}")
    cluster = build(rng, size, skew=30.0 if harm == "missing" else rng.choice((0.0, 0.02)))
    book = Book(cluster)
    truth = FAULTS[fault](book, rng)
    shape = layout.fitting(rng, cluster)
    if harm == "missing":
        spared = [r.number for r in cluster.ranks if r.number not in truth.ranks]
        layout.without(book, rng.sample(spared, min(len(spared), max(1, size // 10))))
    if harm == "culprit":
        lost = min(truth.hosts.intersection(cluster.hosts))
        layout.without(book, [r.number for r in cluster.on(lost) if r.number in truth.ranks], [lost], slurm=True)
        truth = dataclasses.replace(truth, why_told=False, who_told=False)
    texts = layout.files(book, shape, rng)
    if harm == "cut":
        texts = layout.truncated(texts, rng)
    return Simulated(
        texts,
        truth,
        f"{shape}, torch {cluster.torch}, NCCL {cluster.nccl}, {cluster.launcher}, {cluster.network}, {cluster.trainer}",
        cluster.skew,
    )


@dataclass(frozen=True)
class Grade:
    """Whether the cause and the culprit are right, and whether somebody innocent was named with confidence."""

    cause: bool
    culprit: bool
    slander: bool

    @property
    def right(self) -> bool:
        return self.cause and self.culprit


def grade(diagnosis: Diagnosis, truth: Truth) -> Grade:
    """The first answer of ``diagnosis`` against the truth; what the logs do not tell need not be said."""
    if not diagnosis.causes:
        return Grade(not truth.why_told, not truth.who_told, slander=False)
    first = diagnosis.causes[0]
    ranks, hosts = set(first.culprit.ranks), {_short(h) for h in first.culprit.hosts}
    innocent = bool(ranks - truth.ranks or hosts - truth.hosts)
    named = bool(ranks & truth.ranks or hosts & truth.hosts)
    right = not innocent and (named or not truth.who_told or not (truth.ranks or truth.hosts))
    return Grade(
        first.signature in truth.signatures or not truth.why_told, right, slander=innocent and first.confidence > SURE
    )


def _short(host: str) -> str:
    return host if host.replace(".", "").isdigit() else host.partition(".")[0]

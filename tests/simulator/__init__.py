"""Logs of simulated jobs, with one injected fault and its truth.

The ranks print the true formats. `simulate` gives the same files for the same seed. All names, numbers and addresses
are invented.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from dataclasses import dataclass

from logdoctor.model import Diagnosis
from simulator import faults, group_faults, launcher_faults, layout
from simulator.cluster import build_cluster
from simulator.job_output import JobOutput, Truth

__all__ = ["FAULTS", "Grade", "Simulated", "grade", "simulate"]

FAULTS = {**faults.FAULTS, **group_faults.FAULTS, **launcher_faults.FAULTS}
SURE = 0.6
"""An answer with more confidence than this counts as confident."""


@dataclass(frozen=True)
class Simulated:
    """A simulated job.

    It has files (name -> text), truth, setup, and the clock offset of each host in seconds. ``course``: the time, the
    file and the text of each output, of a job without harm.
    """

    files: Mapping[str, str]
    truth: Truth
    setup: str
    skew: Mapping[str, float]
    course: tuple[tuple[float, str, str], ...] = ()


def simulate(seed: int, fault: str, size: int, *, harm: str = "") -> Simulated:
    """Return a job of ``size`` ranks with this fault.

    ``harm`` is "" or one of these.
    "missing": a tenth of the ranks' logs are lost, and clocks are up to 30 s off.
    "culprit": all logs of the culprit's node are lost.
    "cut": files begin late.
    """
    rng = random.Random(f"{seed} {fault} {size} {harm}")
    cluster = build_cluster(rng, size, skew=30.0 if harm == "missing" else rng.choice((0.0, 0.02)))
    job = JobOutput(cluster)
    truth = FAULTS[fault](job, rng)
    collection = layout.choose_layout(rng, cluster)
    if harm == "missing":
        spared = [r.number for r in cluster.ranks if r.number not in truth.ranks]
        layout.drop_logs(job, rng.sample(spared, min(len(spared), max(1, size // 10))))
    if harm == "culprit":
        lost = min(truth.hosts.intersection(cluster.hosts))
        layout.drop_logs(job, [r.number for r in cluster.on(lost) if r.number in truth.ranks], [lost], slurm=True)
        truth = dataclasses.replace(truth, cause_visible=False, culprit_visible=False)
    course = tuple(layout.timed(job, collection, rng))
    texts = layout.files(course)
    if harm == "cut":
        texts = layout.truncate(texts, rng)
    return Simulated(
        texts,
        truth,
        f"{collection}, torch {cluster.torch}, NCCL {cluster.nccl}, {cluster.launcher}, {cluster.network}, {cluster.trainer}",
        cluster.skew,
        course,
    )


@dataclass(frozen=True)
class Grade:
    """Marks for a diagnosis: cause, culprit, confident accusation of an innocent."""

    cause: bool
    culprit: bool
    accuses_innocent: bool

    @property
    def right(self) -> bool:
        return self.cause and self.culprit


def grade(diagnosis: Diagnosis, truth: Truth) -> Grade:
    """Compare the first cause with the truth. A diagnosis may leave out what the logs do not show."""
    if not diagnosis.causes:
        return Grade(not truth.cause_visible, not truth.culprit_visible, accuses_innocent=False)
    first = diagnosis.causes[0]
    ranks, hosts = set(first.culprit.ranks), {_short_name(h) for h in first.culprit.hosts}
    innocent = bool(ranks - truth.ranks or hosts - truth.hosts)
    is_named = bool(ranks & truth.ranks or hosts & truth.hosts)
    right = not innocent and (is_named or not truth.culprit_visible or not (truth.ranks or truth.hosts))
    return Grade(
        first.signature in truth.signatures or not truth.cause_visible,
        right,
        accuses_innocent=innocent and first.confidence > SURE,
    )


def _short_name(host: str) -> str:
    return host if host.replace(".", "").isdigit() else host.partition(".")[0]

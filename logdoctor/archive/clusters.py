"""Dask clusters that run already, or that Slurm or Kubernetes start.

dask-jobqueue and dask-kubernetes start the workers.  Their options are passed through unchanged.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from logdoctor.archive.engines import Work
from logdoctor.model import InputError
from logdoctor.model.extras import needs_extra

Options = dict[str, Any]


def parse_options(pairs: Sequence[str]) -> Options:
    """Parse ``key=value`` texts.

    A value that is JSON is decoded: ``queue=long`` and ``cores=4`` give ``{"queue": "long", "cores": 4}``.  Raises
    `ValueError` if a text has no key.
    """
    options: Options = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key.isidentifier() and equals):
            raise ValueError(f"'{pair}' is not like queue=long")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options


@contextmanager
def connect_address(work: Work) -> Iterator[str]:
    """Yield the address of the Dask scheduler.

    If ``work`` names a cluster, the cluster is started first, and stopped when the block ends.  Raises `InputError` if
    it cannot be started.
    """
    if not work.cluster:
        yield work.scheduler
        return
    what = "the cluster cannot be started"
    try:
        with needs_extra(EXTRAS[work.cluster], what, work.cluster):
            cluster = _STARTERS[work.cluster](work.workers, dict(work.options))
    except InputError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(what, work.cluster, why, "see --cluster-option") from error
    with cluster:
        yield str(cluster.scheduler_address)


def start_slurm_cluster(workers: int, options: Options) -> Any:
    """Start one Slurm job per worker, each with one process."""
    jobqueue = importlib.import_module("dask_jobqueue")
    cluster = jobqueue.SLURMCluster(**{"cores": 1, "processes": 1, "memory": "2GiB", **options})
    cluster.scale(jobs=workers)
    return cluster


def start_kubernetes_cluster(workers: int, options: Options) -> Any:
    """Start pods with the Dask operator. logdoctor must be installed in the image that the option ``image`` names."""
    operator = importlib.import_module("dask_kubernetes.operator")
    return operator.KubeCluster(**{"name": "logdoctor", "n_workers": workers, **options})


_STARTERS: dict[str, Callable[[int, Options], Any]] = {
    "slurm": start_slurm_cluster,
    "kubernetes": start_kubernetes_cluster,
}
EXTRAS = {"": "cluster", "slurm": "cluster", "kubernetes": "kubernetes"}
"""Extra with the packages that each cluster needs. Without a cluster a scheduler runs already."""

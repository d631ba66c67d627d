"""Clusters: one that runs already, or workers that Slurm or Kubernetes start for the time of a scan.

Starting them is the business of dask-jobqueue and dask-kubernetes; their options pass through as they are.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from logdoctor.model import InputError
from logdoctor.scan.engines import Work

Options = dict[str, Any]


def options_of(pairs: Sequence[str]) -> Options:
    """Options from ``key=value`` texts: a value that is JSON (a number, a list) is that, all else is text.

    Raises `ValueError` where a text has no key.
    """
    found: Options = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key.isidentifier() and equals):
            raise ValueError(f"'{pair}' is not like queue=long")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


@contextmanager
def started(work: Work) -> Iterator[str]:
    """The address of the scheduler; a cluster that we started ends with the block.  Raises `InputError`."""
    if not work.cluster:
        yield work.scheduler
        return
    try:
        cluster = _STARTERS[work.cluster](work.workers, dict(work.options))
    except ImportError as error:
        what, cure = "the cluster cannot be started", f"pip install 'logdoctor[{_EXTRAS[work.cluster]}]'"
        raise InputError(what, work.cluster, f"{error.name} is not installed", cure) from None
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError("the cluster cannot be started", work.cluster, why, "see --cluster-option") from error
    with cluster:
        yield str(cluster.scheduler_address)


def slurm(workers: int, options: Options) -> Any:
    """A Slurm job a worker, of one process each."""
    jobqueue = importlib.import_module("dask_jobqueue")
    cluster = jobqueue.SLURMCluster(**{"cores": 1, "processes": 1, "memory": "2GiB", **options})
    cluster.scale(jobs=workers)
    return cluster


def kubernetes(workers: int, options: Options) -> Any:
    """Pods of the Dask operator; the option ``image`` must hold logdoctor."""
    operator = importlib.import_module("dask_kubernetes.operator")
    return operator.KubeCluster(**{"name": "logdoctor", "n_workers": workers, **options})


_STARTERS: dict[str, Callable[[int, Options], Any]] = {"slurm": slurm, "kubernetes": kubernetes}
_EXTRAS = {"slurm": "cluster", "kubernetes": "kubernetes"}

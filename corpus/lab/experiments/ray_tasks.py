"""Ray preprocesses a data set with tasks and an actor, and something goes wrong."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from functools import partial

from bench import Bench, Running
from experiment import Experiment, Needs

failure = partial(Experiment, seconds=240, needs=Needs(environment="ray"))
healthy = partial(Experiment, seconds=240, needs=Needs(environment="ray"), label="healthy")
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_COLOR_PREFIX": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}


def preprocess(*arguments: str, env: dict[str, str] | None = None, **options: object) -> Callable[[Bench], None]:
    """A run with a local cluster."""
    return lambda bench: (
        bench.run("python", "ray_preprocess.py", *arguments, env={**QUIET, **(env or {})}, timeout=100, **options)
        and None
    )


def kill(pattern: str, number: signal.Signals = signal.SIGKILL) -> Callable[[Running], None]:
    """Return an action that kills the first process whose command line matches."""

    def hit(running: Running) -> None:
        for process in running.host.processes():
            with open(f"/proc/{process}/cmdline", "rb") as file:
                if re.search(pattern.encode(), file.read().replace(b"\0", b" ")):
                    os.kill(process, number)
                    return

    return hit


def without_cluster(bench: Bench) -> None:
    """A client of a cluster that is not there."""
    preprocess("--address", "10.20.0.11:6379")(bench)


EXPERIMENTS = (
    failure(
        case="damaged-shard-ray",
        label="app.exception",
        title="A shard that is no text ends the run",
        story="Shard 5 is not UTF-8. Its task raises UnicodeDecodeError in a worker, and ray.get raises it again in the driver as RayTaskError.",
        run=preprocess("--damaged", "5"),
        evidence=("UnicodeDecodeError",),
    ),
    failure(
        case="killed-actor-ray",
        label="collective.rank-died",
        also=("app.exception", "host.oom-kill", "unknown"),
        title="The process of the actor is killed",
        story="Somebody kills the actor's worker process with SIGKILL after the third shard. The next call of it raises ActorDiedError.",
        run=preprocess("--seconds", "0.5", on={"3 of 12 shards": kill("ray::Counter")}),
        evidence=("ActorDiedError", "died unexpectedly"),
    ),
    failure(
        case="killed-worker-ray",
        label="collective.rank-died",
        also=("app.exception", "host.oom-kill", "unknown"),
        title="The worker of a task is killed",
        story="The worker that cleans a shard is killed with SIGKILL; the task may not be tried again, so ray.get raises WorkerCrashedError.",
        run=preprocess("--seconds", "2", on={"1 of 12 shards": kill("ray::clean")}),
        evidence=("WorkerCrashedError", "worker died unexpectedly", "crashed", "A worker died or was killed"),
    ),
    failure(
        case="segfault-actor-ray",
        label="app.segfault",
        also=("collective.rank-died",),
        title="The actor's process dies of SIGSEGV",
        story="The actor's worker gets SIGSEGV, as from a broken native library; Ray's own handler may print the stack.",
        run=preprocess("--seconds", "0.5", on={"3 of 12 shards": kill("ray::Counter", signal.SIGSEGV)}),
        evidence=("SIGSEGV", "ActorDiedError", "Segmentation fault"),
    ),
    failure(
        case="killed-raylet-ray",
        label="host.node-failure",
        also=("collective.rank-died", "unknown", "app.exception"),
        title="The raylet of the only node is killed",
        story="The raylet gets SIGKILL in the middle of the run: all its workers end, and the driver loses the node.",
        run=preprocess("--seconds", "1", on={"3 of 12 shards": kill(r"raylet/raylet ")}),
        evidence=("raylet", "Raylet", "node"),
    ),
    failure(
        case="killed-gcs-ray",
        label="rdzv.store-lost",
        also=("collective.rank-died", "host.node-failure", "unknown"),
        title="The cluster's control service is killed",
        story="gcs_server gets SIGKILL. The driver tries to reach it again for some seconds and then gives up.",
        run=preprocess(
            "--seconds",
            "1",
            "--shards",
            "60",
            env={"RAY_gcs_rpc_server_reconnect_timeout_s": "5"},
            on={"3 of 60 shards": kill("gcs_server ")},
        ),
        evidence=("GCS", "gcs"),
    ),
    failure(
        case="no-gpus-placement-ray",
        label="job.resources",
        title="A placement group asks for GPUs that the cluster lacks",
        story="The job wants four GPUs in a placement group; the cluster has only CPUs. The program gives up after eight seconds.",
        run=preprocess("--gpus", "4"),
        evidence=("placement group", "GPU"),
    ),
    failure(
        case="no-cluster-ray",
        label="net.socket-connect",
        also=("rdzv.timeout", "job.launch"),
        title="The cluster that is to be used is not there",
        story="The job was told the address of a cluster whose head is no longer up. The driver cannot reach its control service.",
        run=without_cluster,
        evidence=("6379",),
    ),
    failure(
        case="package-missing-ray",
        label="app.config",
        also=("job.launch", "app.exception"),
        title="The working directory of the runtime environment does not exist",
        story="The runtime environment names ./pipeline, a folder that was renamed.",
        run=preprocess("--package", "./pipeline"),
        evidence=("pipeline",),
    ),
    failure(
        case="no-pip-ray",
        label="app.import",
        also=("job.launch",),
        title="A runtime environment wants packages where there is no pip",
        story="""The runtime environment asks for a package by pip, and the cluster's Python was installed without pip, as uv makes its environments. Ray gives
        up before any task has run.""",
        run=preprocess("--pip", "pyarrow==21.0.0"),
        evidence=("No module named pip",),
    ),
    failure(
        case="sigterm-driver-ray",
        label="job.preempted",
        title="The driver gets SIGTERM",
        story="The scheduler ends the job by SIGTERM to the driver after the third shard.",
        run=preprocess("--seconds", "1", on={"3 of 12 shards": lambda run: run.signal(signal.SIGTERM)}),
        evidence=("SIGTERM", "signal"),
    ),
    healthy(
        case="preprocess-ray",
        title="Twelve shards are cleaned",
        story="A local cluster is started, twelve tasks and one actor do their work, the cluster is shut down.",
        run=preprocess(),
    ),
    healthy(
        case="preprocess-ray-retried",
        title="A worker is killed and its task is tried again",
        story="The worker of a task is killed with SIGKILL; the task may be tried three times and succeeds the second time. The run ends well.",
        run=preprocess("--seconds", "2", "--retries", "3", on={"1 of 12 shards": kill("ray::clean")}),
    ),
)

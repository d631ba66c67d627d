"""JAX on several processes over gloo: the coordination service and what befalls its members."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from functools import partial

from bench import Bench, Running
from experiment import Experiment, Needs

failure = partial(Experiment, needs=Needs(environment="jax"))
healthy = partial(Experiment, needs=Needs(environment="jax"), label="healthy")


def train(
    bench: Bench,
    *arguments: str,
    processes: int = 2,
    own: Mapping[int, tuple[str, ...]] | None = None,
    absent: tuple[int, ...] = (),
    kill: int | None = None,
    number: signal.Signals = signal.SIGKILL,
) -> None:
    """Start the processes, each on a host of its own with a log of its own; ``kill`` gets a signal after step 10."""
    hosts = [bench.host(f"tpu-w{process}") for process in range(processes)]
    started: dict[int, Running] = {}

    def hit(_: Running) -> None:
        started[kill if kill is not None else 0].signal(number)

    for process, host in enumerate(hosts):
        if process in absent:
            continue
        words = ("--coordinator", "tpu-w0:8476", "--processes", str(processes), "--process", str(process), *arguments)
        more = (own or {}).get(process, ())
        watch = {"step 10/": hit} if process == kill else None
        started[process] = host.start(
            "python", "jax_regression.py", *words, *more, log=f"worker{process}.log", on=watch
        )
    for running in started.values():
        running.wait(90)


def port_taken(bench: Bench) -> None:
    """Another program listens on the coordinator's port."""
    server = bench.host("tpu-w0").start("python", "-m", "http.server", "8476", "--bind", "::", log="")
    bench.host("tpu-w0").run("sleep", "2", log="")
    train(bench, "--start-timeout", "12")
    server.signal(signal.SIGTERM)


EXPERIMENTS = (
    failure(
        case="killed-process-jax",
        label="collective.rank-died",
        also=("unknown", "net.peer-closed"),
        title="Process 1 of a JAX job is killed",
        story="""Two processes on two hosts; process 1 is killed with SIGKILL after step 10. gloo of process 0 sees the connection close, and the
        coordination service misses its heartbeats.""",
        run=lambda bench: train(bench, "--step-seconds", "0.3", "--steps", "200", kill=1),
        evidence=("heartbeat", "closed by peer", "unhealthy"),
    ),
    failure(
        case="killed-process-jax-3",
        label="collective.rank-died",
        also=("unknown", "net.peer-closed"),
        title="Process 2 of three is killed",
        story="Three processes on three hosts; process 2 is killed after step 10. The other two lose their connections to it.",
        run=lambda bench: train(bench, "--step-seconds", "0.3", "--steps", "200", processes=3, kill=2),
        evidence=("heartbeat", "closed by peer", "unhealthy"),
    ),
    failure(
        case="killed-coordinator-jax",
        label="collective.rank-died",
        also=("unknown", "net.peer-closed", "rdzv.store-lost"),
        title="The process with the coordination service is killed",
        story="Process 0, which holds the coordination service, is killed after step 10. Process 1 loses gloo's connection and the service.",
        run=lambda bench: train(bench, "--step-seconds", "0.3", "--steps", "200", kill=0),
        evidence=("closed by peer", "coordination service", "UNAVAILABLE"),
    ),
    failure(
        case="stopped-process-jax",
        label="collective.heartbeat",
        also=("collective.rank-died", "unknown", "app.hang"),
        title="Process 1 stands still",
        story="Process 1 is stopped by SIGSTOP after step 10, as by a frozen host. Its connections stay open; the service misses its heartbeats after ten seconds and ends process 0.",
        run=lambda bench: train(bench, "--step-seconds", "0.3", "--steps", "200", kill=1, number=signal.SIGSTOP),
        evidence=("heartbeat", "unhealthy"),
    ),
    failure(
        case="lonely-process-jax",
        label="rdzv.timeout",
        title="Process 1 was never started",
        story="Two processes are expected and only process 0 is started; its service gives up after the time-out of the start.",
        run=lambda bench: train(bench, "--start-timeout", "12", absent=(1,)),
        evidence=("DEADLINE_EXCEEDED", "timed out"),
    ),
    failure(
        case="lonely-worker-jax",
        label="rdzv.timeout",
        also=("net.socket-connect",),
        title="The coordinator was never started",
        story="Process 0, which holds the coordination service, is not there; process 1 asks for it until its time-out.",
        run=lambda bench: train(bench, "--start-timeout", "12", absent=(0,)),
        evidence=("DEADLINE_EXCEEDED", "UNAVAILABLE", "timed out", "refused"),
    ),
    failure(
        case="coordinator-unresolved-jax",
        label="rdzv.timeout",
        also=("net.dns", "rdzv.config"),
        title="The coordinator's name does not resolve on one worker",
        story="""Worker 1 was given the coordinator's old name, which no host has any more. JAX says nothing of that: both workers give up when
        their time is over, and only the names they connect to differ.""",
        run=lambda bench: train(bench, "--start-timeout", "12", own={1: ("--coordinator", "tpu-main:8476")}),
        evidence=("DNS", "resol", "DEADLINE_EXCEEDED", "timed out"),
    ),
    failure(
        case="port-in-use-jax",
        label="rdzv.port-in-use",
        title="The coordinator's port belongs to another program",
        story="A web server of somebody else listens on port 8476 of the first host.",
        run=port_taken,
        evidence=("already in use", "Failed to add port", "bind"),
    ),
    failure(
        case="process-twice-jax",
        label="rdzv.config",
        also=("app.exception",),
        title="Two workers have the same number",
        story="Both workers were started as process 1 of three by a copied unit file; the service sees the second one as a restart of the first.",
        run=lambda bench: train(bench, "--start-timeout", "12", processes=3, own={2: ("--process", "1")}),
        evidence=("already", "ALREADY_EXISTS", "incarnation", "restart"),
    ),
    failure(
        case="diverging-loss-jax",
        label="app.exception",
        also=("app.nan-loss",),
        title="The loss grows beyond the program's limit",
        story="The learning rate is ten times too large: the loss grows until the program's own check ends both processes.",
        run=lambda bench: train(bench, "--lr", "2"),
        evidence=("is above the limit",),
    ),
    failure(
        case="other-shape-jax",
        label="app.exception",
        title="Worker 1 has another number of features",
        story="Worker 1 was started with 9 features where the data and the others have 8. Its first step cannot be traced.",
        run=lambda bench: train(bench, own={1: ("--features", "9")}),
        evidence=("matmul", "ValueError"),
    ),
    failure(
        case="other-limit-jax",
        label="app.exception",
        title="Worker 1 was started with a tighter limit",
        story="""Worker 1 still has an old limit for the loss in its start script and ends itself in the first step. Worker 0 loses its connection in
        the next.""",
        run=lambda bench: train(bench, own={1: ("--limit", "0.5")}),
        evidence=("is above the limit",),
    ),
    healthy(
        case="regression-jax",
        title="Two processes train and end",
        story="Forty steps on two hosts; JAX says that there is no TPU, which is meant so.",
        run=train,
    ),
    healthy(
        case="regression-jax-3",
        title="Three processes train and end",
        story="Twenty steps on three hosts, one of which starts later than the others.",
        run=lambda bench: train(bench, "--steps", "20", processes=3),
    ),
)

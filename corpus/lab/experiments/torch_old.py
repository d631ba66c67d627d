"""Old torch wheels under their own torchrun: what elastic, c10d and gloo said in 2.1 and 2.6, and CUDA builds without a GPU."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial

from bench import Bench
from experiment import Experiment, Needs

OLD, LATER = Needs(environment="torch-2.1"), Needs(environment="torch-2.6")
failure = partial(Experiment, seconds=240)
PROGRAM = "translate.py"


def torchrun(*arguments: str, ranks: int = 2, options: tuple[str, ...] = (), **how: object) -> Callable[[Bench], None]:
    """The program under the torchrun of its version."""
    command = ("torchrun", "--nproc-per-node", str(ranks), *options, PROGRAM, *arguments)
    return lambda bench: bench.run(*command, **how) and None


def killed(version: str, needs: Needs, ranks: int) -> Experiment:
    """The last rank is killed."""
    return failure(
        case=f"killed-rank-torch-{version}",
        label="collective.rank-died",
        also=("host.oom-kill", "unknown"),
        title=f"The last of {ranks} ranks is killed, torch {version}",
        story=f"{ranks} ranks train under torchrun of torch {version}; the last one is killed with SIGKILL after step 10.",
        run=torchrun("--steps", "100000", ranks=ranks, on={"step 10 ": lambda job: job.host.kill(ranks - 1)}),
        needs=needs,
        culprit={"rank": ranks - 1},
        evidence=("Signal 9 (SIGKILL)", "exitcode: -9", "exitcode  : -9", "(SIGKILL)"),
    )


def nccl_without_gpu(version: str, needs: Needs) -> Experiment:
    """The nccl back end on a host without a GPU."""
    return failure(
        case=f"no-gpu-nccl-torch-{version}",
        label="cuda.driver",
        also=("app.config", "job.resources", "collective.misuse"),
        title=f"The nccl back end on a host without a GPU, torch {version}",
        story=f"The job was sent to a partition without GPUs. ProcessGroupNCCL of torch {version} refuses to start on both ranks.",
        run=torchrun("--backend", "nccl"),
        needs=needs,
        evidence=("no GPUs found",),
    )


def no_driver(version: str, needs: Needs) -> Experiment:
    """A CUDA build where no driver is."""
    return failure(
        case=f"no-driver-torch-{version}",
        label="cuda.driver",
        title=f"A CUDA build of torch {version} where no driver is",
        story="The job wants to put its model on the GPU; the host has none and no driver. torch says so when CUDA is started first.",
        run=torchrun("--device", "cuda"),
        needs=needs,
        evidence=("Found no NVIDIA driver",),
    )


def bad_sentence(version: str, needs: Needs) -> Experiment:
    """One rank meets a sentence that it cannot read."""
    return failure(
        case=f"bad-sentence-torch-{version}",
        label="app.exception",
        title=f"Rank 1 meets a sentence that is too long, torch {version}",
        story="Sentence 45 of the corpus is longer than the model's positions; it is in a batch of rank 1, which raises IndexError. Rank 0 loses its connection.",
        run=torchrun("--long-sentence", "45"),
        needs=needs,
        # Without a rank before its lines, and both ranks ending within one look of the agent, nobody can know.
        culprit={"rank": 1} if version.startswith("2.6") else {},
        evidence=("IndexError",),
    )


def healthy(version: str, needs: Needs) -> Experiment:
    """All goes well."""
    return failure(
        case=f"translate-torch-{version}",
        label="healthy",
        title=f"Two ranks train to their end, torch {version}",
        story=f"Forty steps under torchrun of torch {version}, with a checkpoint.",
        run=torchrun(),
        needs=needs,
    )


EXPERIMENTS = (
    killed("2.1.2", OLD, 2),
    killed("2.6.0", LATER, 3),
    nccl_without_gpu("2.1.2", OLD),
    nccl_without_gpu("2.6.0", LATER),
    no_driver("2.1.2", OLD),
    no_driver("2.6.0", LATER),
    bad_sentence("2.1.2", OLD),
    bad_sentence("2.6.0", LATER),
    healthy("2.1.2", OLD),
    healthy("2.6.0", LATER),
    failure(
        case="sigterm-torch-2.1.2",
        label="job.preempted",
        title="torchrun of torch 2.1 gets SIGTERM",
        story="The scheduler ends the job: torchrun gets SIGTERM in the middle of training and ends with SignalException.",
        run=torchrun("--steps", "100000", on={"step 10 ": lambda job: job.signal(signal.SIGTERM)}),
        needs=OLD,
        evidence=("SIGTERM", "signal: 15", "death signal"),
    ),
    failure(
        case="lonely-node-torch-2.1.2",
        label="rdzv.timeout",
        title="The second node never came, torch 2.1",
        story="Two nodes are to meet over c10d rendezvous; nobody starts the second, and the first gives up after its join time-out.",
        run=torchrun(
            options=(
                "--nnodes",
                "2",
                "--rdzv-backend",
                "c10d",
                "--rdzv-endpoint",
                "gpu-a01:29400",
                "--rdzv-conf",
                "join_timeout=10",
            )
        ),
        needs=OLD,
        evidence=("RendezvousTimeoutError", "imed out", "imeout"),
    ),
)

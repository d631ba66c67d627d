"""MPI jobs that stand still because their ranks do not make matching calls; somebody takes stacks and gives up."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import Any

from bench import Bench
from experiment import Experiment
from mpi import MPICH, OPENMPI, Mpi, around, fault, stacks

OVERSUBSCRIBE = {"openmpi": ("--oversubscribe",), "mpich": ()}


def stands(
    bench: Bench,
    mpi: Mpi,
    kind: str,
    *,
    program: str = "heat",
    ranks: int = 4,
    rank: int = 1,
    style: tuple[str, ...] = (),
    traced: bool = True,
) -> None:
    """Run a program until it has stood for some seconds, take the stacks of its ranks, and kill it."""
    host = bench.host("node05")
    mpi.build(bench, program, "-fno-inline")
    arguments = ("--steps", "200") if program == "heat" else ("200",)
    command = mpi.command("-n", str(ranks), *OVERSUBSCRIBE[mpi.name], *style, f"./{program}", *arguments)
    job = host.start(*command, env=around(bench, **fault(kind, rank)))
    try:
        job.process.wait(9)
    except subprocess.TimeoutExpired:
        if traced:
            stacks(bench, program)
        job.stop()
    job.wait(5)


def timed(
    bench: Bench, mpi: Mpi, kind: str, *, ranks: int, style: tuple[str, ...] = (), env: dict[str, str] | None = None
) -> None:
    """Run a program that stands until the launcher's own time limit ends it."""
    bench.host("node05")
    mpi.build(bench)
    command = mpi.command(
        "-n", str(ranks), *OVERSUBSCRIBE[mpi.name], *style, "./heat", "--steps", "4000", "--report", "100"
    )
    bench.run(*command, env=around(bench, **fault(kind), **(env or {})), timeout=40)


KINDS = {
    "skip": ("enters a barrier where the others reduce", "enters a barrier instead of an Allreduce"),
    "sleep": ("waits in its own code for ever and never comes to the Allreduce", "waits in its own code"),
    "recv_recv": ("waits for a message that nobody sends", "waits for a message that nobody sends"),
    "nothing": ("leaves one Allreduce out and is then one call ahead of the others", "leaves one Allreduce out"),
    "bcast": ("calls MPI_Bcast where the others call MPI_Allreduce", "calls another collective than the others"),
    "stop": ("is stopped by SIGSTOP", "is stopped"),
}


def hang(
    case: str,
    mpi: Mpi,
    kind: str,
    evidence: str,
    *,
    own: tuple[str, ...] = (),
    culprit: dict[str, Any] | None = None,
    also: tuple[str, ...] = (),
    label: str = "mpi.hang",
    **how: Any,
) -> Experiment:
    """An experiment that ends in a hang. ``own`` are frames of the rank that does not come."""
    description, short = KINDS[kind]
    rank, ranks, traced = how.get("rank", 1), how.get("ranks", 4), how.get("traced", True)
    program = "linear regression, trained in parallel in C" if how.get("program") else "heat-equation solver in C"
    return Experiment(
        case=case,
        label=label,
        title=f"Rank {rank} of {ranks} {short}, and the job stands",
        story=f"""A {program} runs on {ranks} ranks of one host under {mpi.name}. In step 60 rank {rank} {description}. Nothing more is printed.
        {"gdb took the stacks of all ranks before somebody ended the job." if traced else "Somebody ends the job after a while."}""",
        run=partial(stands, mpi=mpi, kind=kind, **how),
        needs=mpi.needs("gdb") if traced else mpi.needs(),
        culprit=culprit or {},
        also=also,
        evidence=(evidence, "ompi_", "mca_pml_", "opal_progress", *own) if evidence else (),
        hung=True,
        seconds=90,
    )


EXPERIMENTS = (
    hang("barrier-instead-of-allreduce-openmpi", OPENMPI, "skip", "MPI_"),
    hang("barrier-instead-of-allreduce-mpich", MPICH, "skip", "MPI_", ranks=3, rank=2, also=("collective.desync",)),
    hang("rank-in-own-code-openmpi", OPENMPI, "sleep", "MPI_Allreduce", rank=2, also=("collective.straggler",)),
    hang(
        "rank-in-own-code-mpich",
        MPICH,
        "sleep",
        "MPI_Allreduce",
        own=("__libc_pause",),
        rank=3,
        also=("collective.straggler",),
    ),
    hang("unmatched-receive-openmpi", OPENMPI, "recv_recv", "MPI_", ranks=3, rank=2, style=("--tag-output",)),
    hang("unmatched-receive-mpich", MPICH, "recv_recv", "MPI_", style=("-l",)),
    hang("left-out-allreduce-openmpi", OPENMPI, "nothing", "MPI_", program="regression", ranks=2),
    hang(
        "bcast-instead-of-allreduce-mpich",
        MPICH,
        "bcast",
        "MPI_",
        program="regression",
        ranks=2,
        also=("collective.desync",),
    ),
    hang("stopped-rank-openmpi", OPENMPI, "stop", "MPI_", rank=2),
    hang("silent-hang-openmpi", OPENMPI, "skip", "", traced=False, label="unknown", also=("mpi.hang",)),
    hang("silent-hang-mpich", MPICH, "sleep", "", traced=False, label="unknown", also=("mpi.hang",), style=("-l",)),
    Experiment(
        case="timeout-openmpi",
        label="job.time-limit",
        title="mpirun's own time limit ends the job",
        story="A heat-equation solver in C runs on two ranks under openmpi with --timeout 4, which is too short for its steps.",
        run=partial(timed, mpi=OPENMPI, kind="none", ranks=2, style=("--timeout", "4")),
        needs=OPENMPI.needs(),
        evidence=("time limit for job execution has been reached",),
        seconds=60,
    ),
    Experiment(
        case="timeout-of-hang-openmpi",
        label="job.time-limit",
        title="A job that stands is ended by mpirun's time limit, which tells the state of all ranks",
        story="""A heat-equation solver in C runs on four ranks under openmpi with --timeout 6 and --report-state-on-timeout. In step 60 rank 1
        enters a barrier where the others reduce; the job stands until the limit.""",
        run=partial(timed, mpi=OPENMPI, kind="skip", ranks=4, style=("--timeout", "6", "--report-state-on-timeout")),
        needs=OPENMPI.needs(),
        also=("mpi.hang",),
        evidence=("time limit for job execution has been reached",),
        seconds=60,
    ),
    Experiment(
        case="timeout-mpich",
        label="job.time-limit",
        title="MPIEXEC_TIMEOUT ends the job",
        story="A heat-equation solver in C runs on two ranks under mpich with MPIEXEC_TIMEOUT=4, which is too short for its steps.",
        run=partial(timed, mpi=MPICH, kind="none", ranks=2, env={"MPIEXEC_TIMEOUT": "4"}),
        needs=MPICH.needs(),
        evidence=("timed out", "TIMEOUT", "timeout"),
        seconds=60,
    ),
)

"""MPI calls that are wrong, MPI_Abort, and files that fail under an MPI solver."""

from __future__ import annotations

from functools import partial
from typing import Any

from bench import Bench
from experiment import Experiment
from mpi import MPICH, OPENMPI, Mpi, around, fault, insist

OVERSUBSCRIBE = {"openmpi": ("--oversubscribe",), "mpich": ()}


def wrong_call(
    bench: Bench,
    mpi: Mpi,
    kind: str,
    *,
    holds: str,
    program: str = "heat",
    ranks: int = 4,
    rank: int = 1,
    code: int = 1,
    step: int = 60,
    style: tuple[str, ...] = (),
) -> None:
    """Run a program in which one rank makes a wrong call."""
    bench.host("hpc-07")
    mpi.build(bench, program)
    arguments = ("--steps", "160") if program == "heat" else ("100",)
    command = mpi.command("-n", str(ranks), *OVERSUBSCRIBE[mpi.name], *style, f"./{program}", *arguments)
    insist(bench, *command, holds=holds, env=around(bench, **fault(kind, rank, step, code)), timeout=25)


def broken_file(bench: Bench, mpi: Mpi, prepare: str, *arguments: str, holds: str, ranks: int = 4) -> None:
    """Run the solver with checkpoints on storage that is prepared to fail."""
    host = bench.host("hpc-07")
    mpi.build(bench)
    host.sh(f"cd {bench.folder} && {prepare}")
    command = mpi.command("-n", str(ranks), *OVERSUBSCRIBE[mpi.name], "./heat", "--steps", "160", *arguments)
    insist(bench, *command, holds=holds, env=around(bench))


CALLS = {
    "truncate": ("sends eight numbers where its neighbour waits for one", "sends more than its neighbour can receive"),
    "bad_rank": ("exchanges its halo with a rank that does not exist", "talks to a rank that does not exist"),
    "bad_tag": ("sends with a negative tag", "sends with an invalid tag"),
    "bad_count": ("sends a negative number of values", "sends a negative count"),
    "bad_comm": ("enters a barrier of MPI_COMM_NULL", "uses the null communicator"),
    "bad_type": ("sends with MPI_DATATYPE_NULL", "sends with a null datatype"),
    "mpi_abort": ("finds that its residual is not finite, says so, and calls MPI_Abort", "calls MPI_Abort"),
    "aliased": ("gives MPI_Allreduce the same buffer twice", "passes the same buffer for both sides of an Allreduce"),
    "shorter": ("reduces half as many gradients as the others", "reduces fewer gradients than the others"),
    "freed_comm": ("reduces over a communicator that it has freed", "uses a communicator after freeing it"),
}


def called(
    case: str,
    mpi: Mpi,
    kind: str,
    evidence: str,
    culprit: dict[str, Any],
    *,
    rank: int = 1,
    label: str = "mpi.abort",
    also: tuple[str, ...] = (),
    **more: Any,
) -> Experiment:
    """An experiment in which a call is wrong."""
    description, short = CALLS[kind]
    program = "a linear regression, trained in parallel in C," if more.get("program") else "a heat-equation solver in C"
    ranks = more.get("ranks", 4)
    return Experiment(
        case=case,
        label=label,
        also=also,
        title=f"Rank {rank} of {ranks} {short} under {mpi.name}",
        story=f"{program.capitalize()} runs on {ranks} ranks of one host under {mpi.name}. In the middle of the run rank {rank} {description}. The job is aborted.",
        run=partial(wrong_call, mpi=mpi, kind=kind, holds=evidence, rank=rank, **more),
        needs=mpi.needs(),
        culprit=culprit,
        evidence=(evidence,),
        seconds=60,
    )


def stored(
    case: str,
    mpi: Mpi,
    label: str,
    title: str,
    description: str,
    prepare: str,
    arguments: tuple[str, ...],
    evidence: str,
    **more: Any,
) -> Experiment:
    """An experiment in which storage fails."""
    return Experiment(
        case=case,
        label=label,
        title=title,
        story=f"A heat-equation solver in C runs on one host under {mpi.name}. {description} The rank prints the error of the system and calls MPI_Abort.",
        run=lambda bench: broken_file(bench, mpi, prepare, *arguments, holds=evidence),
        needs=mpi.needs(),
        evidence=(evidence,),
        seconds=60,
        **more,
    )


SMALL = "mkdir -p scratch && mount -t tmpfs -o size=32k none scratch"
READ_ONLY = "mkdir -p scratch && mount -t tmpfs -o ro none scratch"

EXPERIMENTS = (
    called("truncated-message-openmpi", OPENMPI, "truncate", "MPI_ERR_TRUNCATE", {"rank": 0}),
    called("truncated-message-mpich", MPICH, "truncate", "Message truncated", {"rank": 1}, rank=2),
    called(
        "bad-rank-openmpi-tagged",
        OPENMPI,
        "bad_rank",
        "MPI_ERR_RANK",
        {"rank": 3},
        rank=3,
        ranks=8,
        style=("--tag-output",),
    ),
    called("bad-rank-mpich-prepended", MPICH, "bad_rank", "Invalid rank", {"rank": 1}, style=("-l",)),
    called("bad-tag-openmpi", OPENMPI, "bad_tag", "MPI_ERR_TAG", {"rank": 2}, rank=2),
    called("bad-count-mpich", MPICH, "bad_count", "Invalid count", {"rank": 2}, rank=2),
    called("null-communicator-mpich", MPICH, "bad_comm", "Invalid communicator", {"rank": 1}, ranks=2),
    called("null-communicator-openmpi", OPENMPI, "bad_comm", "MPI_ERR_COMM", {"rank": 1}, ranks=2),
    called(
        "null-datatype-openmpi-stamped",
        OPENMPI,
        "bad_type",
        "MPI_ERR_TYPE",
        {"rank": 3},
        rank=3,
        style=("--timestamp-output",),
    ),
    called(
        "abort-called-openmpi", OPENMPI, "mpi_abort", "MPI_ABORT was invoked on rank 2", {"rank": 2}, rank=2, code=77
    ),
    called(
        "abort-called-mpich",
        MPICH,
        "mpi_abort",
        "application called MPI_Abort(MPI_COMM_WORLD, 77)",
        {"rank": 2},
        rank=2,
        code=77,
    ),
    called(
        "aliased-buffers-mpich",
        MPICH,
        "aliased",
        "Buffers must not be aliased",
        {"rank": 1},
        program="regression",
        step=20,
    ),
    called("unequal-counts-openmpi", OPENMPI, "shorter", "MPI_ERR_TRUNCATE", {}, program="regression", step=20),
    called("unequal-counts-mpich", MPICH, "shorter", "truncated", {}, program="regression", step=20),
    called(
        "freed-communicator-openmpi",
        OPENMPI,
        "freed_comm",
        "Segmentation fault",
        {"rank": 0},
        program="regression",
        rank=0,
        step=30,
        label="app.segfault",
        also=("mpi.abort",),
    ),
    called(
        "freed-communicator-mpich",
        MPICH,
        "freed_comm",
        "communicator",
        {"rank": 3},
        program="regression",
        rank=3,
        step=30,
    ),
    stored(
        "missing-restart-openmpi",
        OPENMPI,
        "checkpoint.missing",
        "The solver shall go on from a checkpoint that is not there",
        "It is told to go on from a checkpoint file that does not exist.",
        "true",
        ("--restart", "runs/heat-000100.bin"),
        "cannot open checkpoint",
    ),
    stored(
        "missing-restart-mpich",
        MPICH,
        "checkpoint.missing",
        "The solver shall go on from a checkpoint that is not there",
        "It is told to go on from a checkpoint file that does not exist.",
        "true",
        ("--restart", "/tmp/lab/runs/heat-000400.bin"),
        "cannot open checkpoint",
    ),
    stored(
        "truncated-restart-mpich",
        MPICH,
        "checkpoint.corrupt",
        "The checkpoint that the solver shall go on from ends too early",
        "It is told to go on from a checkpoint of which only the first kilobyte was written.",
        "head -c 1024 /dev/zero > heat-000100.bin",
        ("--restart", "heat-000100.bin"),
        "truncated",
    ),
    stored(
        "full-scratch-openmpi",
        OPENMPI,
        "host.disk-full",
        "The file system of the checkpoints is full",
        "Its checkpoints go to a file system of 32 KiB, which is full at the second one.",
        SMALL,
        ("--checkpoints", "scratch", "--save-every", "40", "--cells", "8000"),
        "No space left on device",
    ),
    stored(
        "read-only-scratch-mpich",
        MPICH,
        "host.filesystem",
        "The file system of the checkpoints can only be read",
        "Its checkpoints go to a file system that is mounted read-only.",
        READ_ONLY,
        ("--checkpoints", "scratch", "--save-every", "40"),
        "Read-only file system",
        also=("checkpoint.write",),
    ),
)

"""MPI programs in the wrong surroundings: another implementation's launcher, no PMI, no shared memory, under srun."""

from __future__ import annotations

from typing import Any

from bench import Bench
from experiment import Experiment
from mpi import MPICH, OPENMPI, Mpi, around, fault
from slurm import Cluster
from slurm import needs as slurm_needs

HEAT = ("./heat", "--steps", "100")


def alien(
    bench: Bench,
    mpi: Mpi,
    launcher: Mpi,
    *arguments: str,
    program: tuple[str, ...] = HEAT,
    prepare: str = "true",
    env: dict[str, str] | None = None,
) -> None:
    """Start a program of one implementation by the launcher of (perhaps) another one."""
    host = bench.host("node09")
    mpi.build(bench, program[0][2:])
    if launcher is not mpi:
        (bench.folder / "bin" / "mpirun").unlink()
        (bench.folder / "bin" / "mpirun").symlink_to(f"/usr/bin/{launcher.launcher}")
    host.sh(f"cd {bench.folder} && {prepare}")
    bench.run(*launcher.command(*arguments, *program), env=around(bench, **(env or {})), timeout=30)


def under_srun(bench: Bench, mpi: Mpi, *options: str, env: dict[str, str] | None = None) -> None:
    """Start the solver by srun over two nodes."""
    cluster = Cluster(bench)
    mpi.build(bench, "heat", *(("-rdynamic",) if mpi is OPENMPI else ()))
    cluster.run("srun", "-N2", "-n4", *options, *HEAT, env={**around(bench, **(env or {}))}, timeout=30)


def case(
    name: str,
    label: str,
    title: str,
    description: str,
    run: Any,
    evidence: str = "",
    *,
    slurm: bool = False,
    **more: Any,
) -> Experiment:
    """An experiment about the surroundings of a solver."""
    mpi = OPENMPI if "openmpi" in name else MPICH
    return Experiment(
        case=name,
        label=label,
        title=title,
        story=f"A solver in C is built with {mpi.name}. {description}",
        run=run,
        needs=slurm_needs(mpi.compiler, packages=mpi.packages) if slurm else mpi.needs(),
        evidence=tuple(evidence.split("|")) if evidence else (),
        seconds=90,
        **more,
    )


EXPERIMENTS = (
    case(
        "singletons-mpich-under-mpirun",
        "mpi.singletons",
        "A program of MPICH under the launcher of Open MPI",
        "It is started by Open MPI's mpirun; each of the four processes thinks that it is alone.",
        lambda b: alien(b, MPICH, OPENMPI, "-n", "4", "--oversubscribe", program=("./regression", "30")),
        "[rank 0/1]",
        also=("mpi.version-mix",),
    ),
    case(
        "singletons-openmpi-under-mpiexec",
        "mpi.singletons",
        "A program of Open MPI under the launcher of MPICH",
        "It is started by MPICH's mpiexec; each of the four processes thinks that it is alone.",
        lambda b: alien(b, OPENMPI, MPICH, "-n", "4", program=("./regression", "30")),
        "[rank 0/1]",
        also=("mpi.version-mix",),
    ),
    case(
        "full-shm-openmpi",
        "mpi.shm-cma",
        "/dev/shm is too small for Open MPI",
        "/dev/shm holds no more than 64 KiB, as in a container with a wrong option.",
        lambda b: alien(
            b,
            OPENMPI,
            OPENMPI,
            "-n",
            "4",
            "--oversubscribe",
            "--mca",
            "btl",
            "vader,self",
            prepare="mount -t tmpfs -o size=64k none /dev/shm",
        ),
        "shared|space|shm",
        also=("host.shm-bus-error", "host.disk-full"),
    ),
    case(
        "full-shm-mpich",
        "mpi.shm-cma",
        "/dev/shm is too small for MPICH",
        "/dev/shm holds no more than 64 KiB, as in a container with a wrong option.",
        lambda b: alien(b, MPICH, MPICH, "-n", "4", prepare="mount -t tmpfs -o size=64k none /dev/shm"),
        "shm|memory|Bus error",
        also=("host.shm-bus-error", "host.disk-full"),
    ),
    case(
        "no-pmi-srun-mpich",
        "mpi.singletons",
        "A program of MPICH under srun without PMI",
        "srun --mpi=none gives it no PMI; each of the four processes thinks that it is alone.",
        lambda b: under_srun(b, MPICH, "-l", "--mpi=none"),
        "heat",
        slurm=True,
        also=("mpi.pmi",),
    ),
    case(
        "no-pmi-srun-openmpi",
        "mpi.pmi",
        "A program of Open MPI under srun without PMIx",
        "srun --mpi=none gives it no PMIx, and Open MPI says so.",
        lambda b: under_srun(b, OPENMPI, "--mpi=none"),
        "direct launched using|PMI",
        slurm=True,
        also=("mpi.singletons",),
    ),
    case(
        "unknown-pmi-srun-openmpi",
        "mpi.pmi",
        "srun does not know the PMI that it shall speak",
        "srun is told --mpi=pmix_v9, for which it has no plugin.",
        lambda b: under_srun(b, OPENMPI, "--mpi=pmix_v9"),
        "mpi|MPI|plugin",
        slurm=True,
        also=("job.launch",),
    ),
    case(
        "segfault-srun-mpich",
        "app.segfault",
        "A rank crashes under srun",
        "It runs on two nodes under srun; rank 2 reads through a pointer that nobody set.",
        lambda b: under_srun(b, MPICH, "-l", "--mpi=pmi2", "--kill-on-bad-exit=1", env=fault("segv", 2)),
        "Segmentation fault",
        slurm=True,
        culprit={"rank": 2},
    ),
    case(
        "abort-called-srun-mpich",
        "mpi.abort",
        "A rank calls MPI_Abort under srun",
        "It runs on two nodes under srun; rank 3 finds a residual that is not finite and calls MPI_Abort.",
        lambda b: under_srun(b, MPICH, "-l", "--mpi=pmi2", env=fault("mpi_abort", 3, code=9)),
        "MPI_Abort",
        slurm=True,
        culprit={"rank": 3},
    ),
    case(
        "truncated-message-srun-mpich",
        "mpi.abort",
        "A message is too long under srun",
        "It runs on two nodes under srun; rank 1 sends eight numbers where its neighbour waits for one.",
        lambda b: under_srun(b, MPICH, "-l", "--mpi=pmi2", env=fault("truncate", 1)),
        "Message truncated",
        slurm=True,
    ),
    case(
        "silent-exit-srun-mpich",
        "mpi.rank-died",
        "A rank leaves with an exit code under srun",
        "It runs on two nodes under srun; rank 1 leaves by exit(7) and prints nothing.",
        lambda b: under_srun(b, MPICH, "--mpi=pmi2", "--kill-on-bad-exit=1", env=fault("exit", 1, code=7)),
        "exit code 7",
        slurm=True,
        culprit={"rank": 1},
        also=("unknown", "collective.rank-died"),
    ),
    case(
        "healthy-srun-mpich",
        "healthy",
        "A solver over two nodes under srun",
        "It runs on two nodes under srun to its end.",
        lambda b: under_srun(b, MPICH, "-l", "--mpi=pmi2"),
        slurm=True,
    ),
)

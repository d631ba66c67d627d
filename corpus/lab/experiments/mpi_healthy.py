"""MPI jobs that end well, with the warnings and alarming words that such jobs print."""

from __future__ import annotations

from functools import partial

from bench import Bench
from experiment import Experiment
from mpi import MPICH, OPENMPI, Mpi, around, hosts

OVERSUBSCRIBE = {"openmpi": ("--oversubscribe",), "mpich": ()}


def ends_well(
    bench: Bench,
    mpi: Mpi,
    arguments: tuple[str, ...],
    *,
    program: tuple[str, ...] = ("./heat",),
    env: dict[str, str] | None = None,
    prepare: str = "true",
) -> None:
    """Run a program on one host to its end."""
    host = bench.host("node03")
    mpi.build(bench, program[0][2:])
    host.sh(f"cd {bench.folder} && {prepare}")
    bench.run(*mpi.command(*OVERSUBSCRIBE[mpi.name], *arguments, *program), env=around(bench, **(env or {})))
    for file in sorted(bench.folder.rglob("rank.*/std*")):
        (bench.logs / f"{file.parent.name}.{file.name}.log").write_bytes(file.read_bytes())


def over_hosts(bench: Bench, mpi: Mpi, arguments: tuple[str, ...], *, program: tuple[str, ...] = ("./heat",)) -> None:
    """Run a program on two hosts to its end."""
    hosts(bench, "cn201", "cn202")
    mpi.build(bench, program[0][2:])
    where = {
        "openmpi": (
            "-n",
            "4",
            "--hostfile",
            "hosts.txt",
            "--mca",
            "plm_rsh_agent",
            "./remote",
            "--mca",
            "btl",
            "tcp,self",
        ),
        "mpich": ("-n", "4", "-f", "machines.txt", "-launcher", "ssh", "-launcher-exec", "./remote"),
    }
    bench.run(*mpi.command(*where[mpi.name], *arguments, *program), env=around(bench))


def resumed(bench: Bench) -> None:
    """Run a program with checkpoints, kill it, and go on from the checkpoint; both runs in one log."""
    host = bench.host("node03")
    OPENMPI.build(bench)
    host.sh(f"cd {bench.folder} && mkdir -p runs")
    start = OPENMPI.command("-n", "2", "./heat", "--checkpoints", "runs", "--steps", "120", "--save-every", "40")
    bench.run(*start, env=around(bench))
    bench.run(
        *OPENMPI.command(
            "-n", "1", "./heat", "--restart", "runs/heat-000120.0.bin", "--cells", "2048", "--steps", "80"
        ),
        env=around(bench),
        append=True,
    )


def healthy(
    case: str, mpi: Mpi, title: str, description: str, *arguments: str, far: bool = False, **how: object
) -> Experiment:
    """An experiment that ends well."""
    return Experiment(
        case=case,
        label="healthy",
        title=title,
        story=f"A program in C runs under {mpi.name} to its end. {description}",
        run=partial(over_hosts if far else ends_well, mpi=mpi, arguments=arguments, **how),
        needs=mpi.needs(),
        seconds=60,
    )


EXPERIMENTS = (
    healthy("healthy-solver-openmpi", OPENMPI, "A solver under Open MPI", "Nothing special happens.", "-n", "4"),
    healthy("healthy-solver-mpich", MPICH, "A solver under MPICH", "Nothing special happens.", "-n", "4"),
    healthy(
        "healthy-training-openmpi-tagged",
        OPENMPI,
        "A training run under Open MPI with tagged output",
        "Each line carries the job and the rank.",
        "-n",
        "4",
        "--tag-output",
        program=("./regression", "150"),
    ),
    healthy(
        "healthy-training-mpich-prepended",
        MPICH,
        "A training run under MPICH with the rank before each line",
        "Each line carries the rank.",
        "-n",
        "4",
        "-prepend-rank",
        program=("./regression", "150"),
    ),
    healthy(
        "healthy-missing-openib-openmpi",
        OPENMPI,
        "Open MPI looks for an InfiniBand transport that was not built",
        "It warns that the component openib is not there and goes on over shared memory.",
        "-n",
        "2",
        "--mca",
        "btl",
        "openib,vader,self",
        "--mca",
        "mca_base_component_show_load_errors",
        "1",
    ),
    healthy(
        "healthy-bindings-openmpi",
        OPENMPI,
        "Open MPI reports its bindings",
        "The launcher prints where it binds each rank, and its map.",
        "-n",
        "2",
        "--report-bindings",
        "--display-map",
        "--bind-to",
        "none",
    ),
    healthy(
        "healthy-oversubscribed-verbose-openmpi",
        OPENMPI,
        "Open MPI tells all about its connections",
        "The verbose TCP transport prints each try to connect, and each succeeds.",
        "-n",
        "3",
        "--mca",
        "btl",
        "tcp,self",
        "--mca",
        "btl_base_verbose",
        "30",
    ),
    healthy(
        "healthy-hosts-openmpi",
        OPENMPI,
        "A solver over two hosts under Open MPI",
        "It runs on two hosts over TCP.",
        "--tag-output",
        far=True,
    ),
    healthy(
        "healthy-hosts-mpich",
        MPICH,
        "A training run over two hosts under MPICH",
        "It runs on two hosts over TCP.",
        "-l",
        far=True,
        program=("./regression", "100"),
    ),
    healthy(
        "healthy-stamped-openmpi",
        OPENMPI,
        "A solver under Open MPI with time stamps",
        "Each line carries the time and the rank; checkpoints are written.",
        "-n",
        "4",
        "--timestamp-output",
        "--tag-output",
        program=("./heat", "--checkpoints", "runs", "--save-every", "50"),
        prepare="mkdir -p runs",
    ),
    healthy(
        "healthy-output-files-openmpi",
        OPENMPI,
        "A training run whose ranks write a file each",
        "Each rank's output is in a file of its own.",
        "-n",
        "3",
        "--output-filename",
        "out:nocopy",
        program=("./regression", "60"),
    ),
    healthy(
        "healthy-ucx-warnings-mpich",
        MPICH,
        "UCX warns of a device that is not there and goes on",
        "One of the devices that UCX_NET_DEVICES names does not exist; the other serves.",
        "-n",
        "2",
        env={"UCX_NET_DEVICES": "mlx5_0:1,eth0", "UCX_TLS": "tcp,self,sysv,posix", "UCX_LOG_LEVEL": "info"},
    ),
    healthy(
        "healthy-hydra-verbose-mpich",
        MPICH,
        "Hydra prints all that it does",
        "mpiexec -v prints its arguments, environment and the PMI traffic before the solver's lines.",
        "-n",
        "2",
        "-v",
        program=("./heat", "--steps", "60"),
    ),
    healthy(
        "healthy-fabric-fallback-openmpi",
        OPENMPI,
        "Open MPI's UCX layer declines and another one serves",
        "The verbose selection of the messaging layer prints what is not available, and takes ob1.",
        "-n",
        "2",
        "--mca",
        "pml_base_verbose",
        "10",
        "--mca",
        "btl",
        "vader,self",
    ),
    Experiment(
        case="healthy-restarted-openmpi",
        label="healthy",
        title="A solver, and a second run that goes on from its checkpoint",
        story="A solver in C writes checkpoints and ends; a second, smaller run goes on from one of them. Both stand in one log.",
        run=resumed,
        needs=OPENMPI.needs(),
        seconds=60,
    ),
)

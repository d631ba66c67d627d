"""Python programs over mpi4py, whose wheel takes the MPI library that it finds on the machine."""

from __future__ import annotations

from functools import partial
from typing import Any

from bench import SYSTEM_PATH, Bench
from experiment import Experiment
from mpi import MPICH, OPENMPI, Mpi, around, insist

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
OVERSUBSCRIBE = {"openmpi": ("--oversubscribe",), "mpich": ()}


def python(
    bench: Bench,
    mpi: Mpi,
    *arguments: str,
    ranks: int = 4,
    style: tuple[str, ...] = (),
    module: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
    abi: bool = True,
    holds: str = "",
    **how: Any,
) -> None:
    """Run k-means by the launcher of an implementation; without ``abi`` mpi4py takes whatever library it finds."""
    bench.host("hpc-12")
    mpi.prepare(bench)
    library = _library(bench, mpi) if abi else {}
    path = f"{bench.folder}/bin:{bench.environment}/bin:{SYSTEM_PATH}"
    options = ("-n", str(ranks), *OVERSUBSCRIBE[mpi.name], *style)
    command = mpi.command(*options, "python", *module, "kmeans.py", *arguments)
    insist(bench, *command, holds=holds, env={**around(bench), **library, **(env or {}), "PATH": path}, **how)


def _library(bench: Bench, mpi: Mpi) -> dict[str, str]:
    """MPICH's library has another name on Debian than the one that its ABI gives it, as on a cluster's modules."""
    if mpi is OPENMPI:
        return {"MPI4PY_MPIABI": "openmpi"}
    folder = bench.folder / "lib"
    folder.mkdir()
    (folder / "libmpi.so.12").symlink_to(f"{LIBRARIES}/libmpich.so.12")
    return {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": str(folder)}


def run(mpi: Mpi, *arguments: str, **how: Any) -> Any:
    """An experiment that is one such command."""
    return lambda bench: python(bench, mpi, *arguments, **how)


def needs(mpi: Mpi) -> Any:
    """The launcher, its library, and mpi4py."""
    return mpi.needs(environment="mpi4py")


failure = partial(Experiment, seconds=90)
KILL = {r"round 20/": lambda job: job.host.kill(2)}

EXPERIMENTS = (
    failure(
        case="exception-mpi4py-openmpi",
        label="app.exception",
        also=("mpi.hang",),
        title="An exception on rank 2 leaves the others waiting",
        story="""k-means runs on four ranks over mpi4py under openmpi, output tagged. In round 20 every rank reads its next share; that of
        rank 2 holds a missing value, and its program raises. A plain `python program.py` then only waits in MPI_Finalize: the others stand until somebody
        ends the job.""",
        run=run(OPENMPI, "--damaged", "2", style=("--tag-output",), timeout=20),
        needs=needs(OPENMPI),
        culprit={"rank": 2},
        evidence=("missing values",),
        hung=True,
    ),
    failure(
        case="exception-mpi4py-mpich",
        label="app.exception",
        also=("mpi.hang",),
        title="An exception on rank 3 leaves the others waiting under mpich",
        story="""k-means runs on four ranks over mpi4py under mpich. The next share of rank 3, read in round 20, holds a missing
        value; no rank stands before its lines. The others wait for it until somebody ends the job.""",
        run=run(MPICH, "--damaged", "3", timeout=20),
        needs=needs(MPICH),
        evidence=("missing values",),
        hung=True,
    ),
    failure(
        case="exception-run-mpi4py-openmpi",
        label="app.exception",
        title="Under python -m mpi4py an exception on rank 1 aborts the job",
        story="The same exception, on rank 1, in a program that is started by `python -m mpi4py`: the traceback is followed by MPI_Abort.",
        run=run(OPENMPI, "--damaged", "1", module=("-m", "mpi4py"), holds="MPI_ABORT was invoked"),
        needs=needs(OPENMPI),
        culprit={"rank": 1},
        evidence=("missing values",),
    ),
    failure(
        case="exception-run-mpi4py-mpich",
        label="app.exception",
        title="Under python -m mpi4py an exception on rank 1 aborts the job of mpich",
        story="The same exception, on rank 1, in a program that is started by `python -m mpi4py` under mpich, with ranks before the lines.",
        run=run(MPICH, "--damaged", "1", module=("-m", "mpi4py"), style=("-l",)),
        needs=needs(MPICH),
        culprit={"rank": 1},
        evidence=("missing values",),
    ),
    failure(
        case="truncated-message-mpi4py",
        label="mpi.abort",
        also=("net.size-mismatch", "collective.desync", "app.exception"),
        title="Rank 2 sends more than rank 0 can receive",
        story="""Rank 2 has one more cluster than the others in round 20. Rank 0's Recv raises mpi4py.MPI.Exception; python -m mpi4py makes
        an abort of it.""",
        run=run(OPENMPI, "--more-clusters-on", "2", module=("-m", "mpi4py")),
        needs=needs(OPENMPI),
        evidence=("MPI_ERR_TRUNCATE",),
    ),
    failure(
        case="truncated-message-mpi4py-mpich",
        label="mpi.abort",
        also=("net.size-mismatch", "collective.desync", "app.exception"),
        title="Rank 1 sends more than rank 0 can receive under mpich",
        story="""Rank 1 has one more cluster than the others in round 20. Rank 0's Recv raises mpi4py.MPI.Exception; python -m mpi4py makes
        an abort of it.""",
        run=run(MPICH, "--more-clusters-on", "1", module=("-m", "mpi4py"), ranks=3, style=("-l",)),
        needs=needs(MPICH),
        evidence=("truncated", "MPI_ERR_TRUNCATE"),
    ),
    failure(
        case="missing-centres-mpi4py",
        label="checkpoint.missing",
        title="The centres to start from are not there",
        story="Rank 0 is to read the centres of an earlier run, whose file nobody has written; python -m mpi4py aborts the others.",
        run=run(OPENMPI, "--checkpoint", "checkpoints/centres.npy", module=("-m", "mpi4py")),
        needs=needs(OPENMPI),
        also=("app.exception",),
        evidence=("centres.npy",),
    ),
    failure(
        case="killed-rank-mpi4py-openmpi",
        label="mpi.rank-died",
        also=("host.oom-kill",),
        title="Rank 2 of four is killed under openmpi",
        story="k-means runs on four ranks over mpi4py. After round 20 somebody kills rank 2 with SIGKILL; nothing in the log says who.",
        run=run(OPENMPI, on=KILL),
        needs=needs(OPENMPI),
        culprit={"rank": 2},
        evidence=("signal 9 (Killed)",),
    ),
    failure(
        case="killed-rank-mpi4py-mpich",
        label="mpi.rank-died",
        also=("host.oom-kill",),
        title="Rank 2 of four is killed under mpich",
        story="k-means runs on four ranks over mpi4py. After round 20 somebody kills rank 2 with SIGKILL; nothing in the log says who.",
        run=run(MPICH, on=KILL),
        needs=needs(MPICH),
        evidence=("Killed (signal 9)", "EXIT CODE: 9"),
    ),
    failure(
        case="other-library-mpi4py",
        label="mpi.singletons",
        also=("mpi.version-mix",),
        title="mpi4py takes Open MPI's library under MPICH's launcher",
        story="""mpiexec of mpich starts four processes. mpi4py finds the library of Open MPI first, which knows nothing of that launcher: each
        process is rank 0 of 1 and clusters its own points. mpi4py warns of it.""",
        run=run(MPICH, abi=False),
        needs=needs(MPICH),
        evidence=("suspicious MPI execution environment", "on 1 ranks", "PMI_SIZE"),
    ),
    failure(
        case="missing-library-mpi4py",
        label="app.import",
        also=("mpi.version-mix",),
        title="mpi4py finds no library of the ABI that it is told to use",
        story="MPI4PY_MPIABI is mpich, but the module that puts the folder of libmpi.so.12 into LD_LIBRARY_PATH was not loaded.",
        run=run(MPICH, abi=False, env={"MPI4PY_MPIABI": "mpich"}),
        needs=needs(MPICH),
        evidence=("libmpi.so.12",),
    ),
    Experiment(
        case="healthy-mpi4py-openmpi",
        label="healthy",
        title="Four ranks cluster their points under openmpi, output tagged",
        story="Forty rounds of k-means over mpi4py.",
        run=run(OPENMPI, style=("--tag-output",)),
        needs=needs(OPENMPI),
    ),
    Experiment(
        case="healthy-mpi4py-mpich",
        label="healthy",
        title="Three ranks cluster their points under mpich",
        story="Forty rounds of k-means over mpi4py, with ranks before the lines.",
        run=run(MPICH, ranks=3, style=("-l",), module=("-m", "mpi4py")),
        needs=needs(MPICH),
    ),
)

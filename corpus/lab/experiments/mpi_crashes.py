"""Ranks of an MPI solver that crash or are killed, under Open MPI and MPICH."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench import Bench
from experiment import Experiment
from mpi import MPICH, OPENMPI, Mpi, around, fault, hosts, insist

SHORT = ("./heat", "--steps", "160")


def crash(
    bench: Bench,
    mpi: Mpi,
    kind: str,
    *,
    holds: str,
    ranks: int = 4,
    rank: int = 1,
    style: tuple[str, ...] = (),
    code: int = 1,
) -> None:
    """Run the solver with a fault that it plants in itself."""
    bench.host("node01")
    mpi.build(bench, "heat", *(("-rdynamic",) if mpi is OPENMPI else ()))
    many = ("--oversubscribe",) if mpi is OPENMPI else ()
    command = mpi.command("-n", str(ranks), *many, *style, *SHORT)
    insist(bench, *command, holds=holds, env=around(bench, **fault(kind, rank, code=code)))


def killed(
    bench: Bench, mpi: Mpi, *, rank: int, names: tuple[str, ...] = ("node01",), style: tuple[str, ...] = ()
) -> None:
    """Kill a rank with SIGKILL from outside, as an administrator or a watchdog does."""
    machines = hosts(bench, *names, slots=2 if len(names) > 1 else 4)
    mpi.build(bench)
    where: tuple[str, ...] = ()
    if len(names) > 1:
        where = OVER_HOSTS[mpi.name]
    elif mpi is OPENMPI:
        where = ("--oversubscribe",)
    home = machines[rank // 2] if len(names) > 1 else machines[0]
    command = mpi.command("-n", "4", *where, *style, "./heat", "--steps", "400", "--pause-ms", "10")
    bench.run(*command, env=around(bench), on={"step +100": lambda _: home.kill(rank)})


OVER_HOSTS = {
    "openmpi": ("--hostfile", "hosts.txt", "--mca", "plm_rsh_agent", "./remote", "--mca", "btl", "tcp,self"),
    "mpich": ("-f", "machines.txt", "-launcher", "ssh", "-launcher-exec", "./remote"),
}

STORIES = {
    "segv": "reads a halo through a pointer that nobody set and gets SIGSEGV",
    "fpe": "divides by a number of tiles that is zero and gets SIGFPE",
    "bus": "writes to a mapped file that was cut short and gets SIGBUS",
    "abort": "frees a buffer twice; the C library prints so and aborts",
    "exit": "leaves by exit() with a code of its own and prints nothing",
    "leave": "leaves by _exit(0) in the middle of the run, without MPI_Finalize",
}
TITLES = {
    "segv": "Rank {rank} of {ranks} crashes with a segmentation fault",
    "fpe": "Rank {rank} of {ranks} divides by zero",
    "bus": "Rank {rank} of {ranks} gets a bus error on a mapped file",
    "abort": "Rank {rank} of {ranks} frees a buffer twice",
    "exit": "Rank {rank} of {ranks} exits with code {code} and says nothing",
    "leave": "Rank {rank} of {ranks} leaves without MPI_Finalize",
}


def crashed(
    case: str, mpi: Mpi, kind: str, evidence: str, *, ranks: int = 4, rank: int = 1, code: int = 1, **more: Any
) -> Experiment:
    """An experiment in which the solver crashes by itself."""
    culprit: dict[str, Any] = more.pop("culprit", {"rank": rank})
    also: tuple[str, ...] = more.pop("also", ())
    label = "app.segfault" if kind in ("segv", "fpe", "bus", "abort") else "mpi.rank-died"
    run: Callable[[Bench], None] = partial(
        crash, mpi=mpi, kind=kind, holds=evidence, ranks=ranks, rank=rank, code=code, **more
    )
    return Experiment(
        case=case,
        label=label,
        title=f"{TITLES[kind].format(rank=rank, ranks=ranks, code=code)} under {mpi.name}",
        story=f"""A heat-equation solver in C runs on {ranks} ranks of one host under {mpi.name}. In step 60 rank {rank}
        {STORIES[kind]}. The launcher ends the other ranks.""",
        run=run,
        needs=mpi.needs(),
        culprit=culprit,
        also=also,
        evidence=(evidence,),
        seconds=60,
    )


EXPERIMENTS = (
    crashed("segfault-openmpi", OPENMPI, "segv", "Segmentation fault"),
    crashed("segfault-mpich-prepended", MPICH, "segv", "Segmentation fault", rank=2, style=("-prepend-rank",)),
    crashed(
        "divide-by-zero-openmpi-tagged",
        OPENMPI,
        "fpe",
        "Floating point exception",
        ranks=8,
        rank=5,
        style=("--tag-output",),
    ),
    crashed("divide-by-zero-mpich", MPICH, "fpe", "Floating point exception", ranks=2, culprit={"host": "node01"}),
    crashed(
        "bus-error-openmpi-stamped", OPENMPI, "bus", "Bus error", rank=3, style=("--timestamp-output", "--tag-output")
    ),
    crashed("bus-error-mpich", MPICH, "bus", "Bus error", culprit={"host": "node01"}, also=("host.shm-bus-error",)),
    crashed("double-free-openmpi", OPENMPI, "abort", "double free", ranks=2),
    crashed("double-free-mpich-prepended", MPICH, "abort", "double free", rank=2, style=("-l",)),
    crashed("silent-exit-openmpi", OPENMPI, "exit", "non-zero status", rank=2, code=3),
    crashed("no-finalize-openmpi", OPENMPI, "leave", "has exited due to process rank 3", rank=3),
    crashed("no-finalize-mpich", MPICH, "leave", "BAD TERMINATION", culprit={}),
    *(
        Experiment(
            case=case,
            label="mpi.rank-died",
            title=f"Rank {rank} of four is killed from outside under {mpi.name}",
            story=f"""A heat-equation solver in C runs on four ranks under {mpi.name}, {"two on each of two hosts" if len(names) > 1 else "all on one host"}.
            After step 100 somebody kills rank {rank} with SIGKILL. Nothing in the log says who or why.""",
            run=partial(killed, mpi=mpi, rank=rank, names=names, style=style),
            needs=mpi.needs(),
            culprit=culprit,
            also=("host.oom-kill",),
            evidence=(evidence,),
            seconds=60,
        )
        for case, mpi, rank, names, style, culprit, evidence in (
            ("killed-rank-openmpi", OPENMPI, 2, ("node01",), (), {"rank": 2}, "exited on signal 9"),
            (
                "killed-rank-openmpi-hosts",
                OPENMPI,
                3,
                ("cn101", "cn102"),
                ("--tag-output",),
                {"rank": 3, "host": "cn102"},
                "exited on signal 9",
            ),
            ("killed-rank-mpich", MPICH, 1, ("node01",), (), {"host": "node01"}, "Killed (signal 9)"),
            ("killed-rank-mpich-hosts", MPICH, 2, ("cn101", "cn102"), ("-l",), {"host": "cn102"}, "BAD TERMINATION"),
        )
    ),
)

"""Command lines that several suites share."""

from __future__ import annotations

from collections.abc import Callable

from bench import Bench
from experiment import Needs

TORCH = Needs(environment="torch-2.13")
TORCH_ROOT = Needs(environment="torch-2.13", root=True)


def torchrun(ranks: int, *program: str, flags: str = "") -> tuple[str, ...]:
    """Start a program by torchrun on one node."""
    return ("torchrun", *flags.split(), "--nproc-per-node", str(ranks), *program)


def node(
    index: int, nodes: int, ranks: int, *program: str, flags: str = "", master: str = "gpu-a01"
) -> tuple[str, ...]:
    """Start a program by torchrun on one of several nodes."""
    where = f"--nnodes {nodes} --node-rank {index} --master-addr {master} --master-port 29500"
    return torchrun(ranks, *program, flags=f"{flags} {where}")


def shell(script: str) -> tuple[str, ...]:
    """Start by a shell, as in a job script."""
    return ("bash", "-c", script)


def simply(*command: str, timeout: float = 60, **options: object) -> Callable[[Bench], None]:
    """An experiment that is one command."""

    def run(bench: Bench) -> None:
        bench.run(*command, timeout=timeout, **options)

    return run

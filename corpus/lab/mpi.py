"""Open MPI and MPICH, which compile and start programs on the hosts."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench import SYSTEM_PATH, Bench, Host
from experiment import Needs


@dataclass(frozen=True)
class Mpi:
    """An MPI implementation, as Debian packages it."""

    name: str
    compiler: str
    launcher: str
    packages: tuple[str, ...]

    def needs(self, *programs: str, root: bool = False, environment: str = "") -> Needs:
        """Return the needs of an experiment with this implementation and more programs."""
        both = (self.compiler, self.launcher, *programs)
        return Needs(
            root=root, environment=environment, programs=both, packages=(*self.packages, "iproute2", *programs)
        )

    def build(self, bench: Bench, program: str = "heat", *flags: str) -> None:
        """Compile a program of programs/ into the folder of the bench."""
        compiled = [self.compiler, "-g", "-O1", *flags, "-o", program, f"{program}.c", "-lm"]
        subprocess.run(compiled, cwd=bench.folder, check=True, capture_output=True)
        self.prepare(bench)

    def prepare(self, bench: Bench) -> None:
        """Note the version, and link the launcher as ``mpirun``.

        Users type this name, and Open MPI prints the name by which it is called.
        """
        output = subprocess.run([self.launcher, "--version"], check=True, capture_output=True, text=True).stdout
        version = re.search(r"\d+\.\d+\.\d+", output)
        bench.versions[self.name] = version[0] if version else "unknown"
        launcher = bench.folder / "bin" / "mpirun"
        launcher.parent.mkdir(exist_ok=True)
        launcher.symlink_to(f"/usr/bin/{self.launcher}")

    def command(self, *arguments: str) -> tuple[str, ...]:
        """Return the command that starts a program, as a user types it."""
        return ("mpirun", *arguments) if self is OPENMPI else (f"/usr/bin/{self.launcher}", *arguments)


OPENMPI = Mpi("openmpi", "mpicc.openmpi", "mpirun.openmpi", ("openmpi-bin", "libopenmpi-dev", "gcc", "libc6-dev"))
MPICH = Mpi("mpich", "mpicc.mpich", "mpiexec.mpich", ("mpich", "libmpich-dev", "gcc", "libc6-dev"))


def around(bench: Bench, **more: str) -> dict[str, str]:
    """Return the environment variables of a launcher."""
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {"PATH": f"{bench.folder}/bin:{SYSTEM_PATH}", "PYTHONUNBUFFERED": "1", **allowed, **more}


def fault(kind: str, rank: int = 1, step: int = 60, code: int = 1) -> dict[str, str]:
    """Return the environment variables that break a program; see programs/faults.h."""
    return {"LAB_FAULT": kind, "LAB_RANK": str(rank), "LAB_STEP": str(step), "LAB_CODE": str(code)}


def hosts(bench: Bench, *names: str, slots: int = 2) -> tuple[Host, ...]:
    """Return hosts that reach each other by ``./remote HOST COMMAND``, and write a hostfile.

    ``./remote`` stands for ssh.
    """
    all_hosts = tuple(bench.host(name) for name in names)
    for host in all_hosts:
        _script(
            bench.folder / f".on-{host.name}", f'exec nsenter {" ".join(host.door)} env -C {bench.folder} sh -c "$*"'
        )
    _script(bench.folder / "remote", f'[ "$1" = -x ] && shift; host=$1; shift; exec {bench.folder}/.on-$host "$@"')
    (bench.folder / "hosts.txt").write_text("".join(f"{name} slots={slots}\n" for name in names))
    (bench.folder / "machines.txt").write_text("".join(f"{name}:{slots}\n" for name in names))
    return all_hosts


def insist(bench: Bench, *command: str, holds: str, tries: int = 5, **options: object) -> None:
    """Run a command until its log holds these words. A launcher may end before it prints them."""
    for _ in range(tries):
        bench.run(*command, **options)
        if holds in (bench.logs / "job.log").read_text("utf-8", "replace"):
            return


def stacks(bench: Bench, program: str, log: str = "stacks.log") -> None:
    """Write the stacks of all ranks into a log, by gdb."""
    for host in bench.hosts:
        for process in host.processes():
            if _name(process) == program:
                shell = f"echo; echo \"== {host.name} pid {process}\"; gdb -p {process} -batch -ex 'set pagination off' -ex bt 2>/dev/null"
                host.run("sh", "-c", shell, log=log, append=True)


def _script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _name(process: int) -> str:
    try:
        return os.path.basename(Path(f"/proc/{process}/comm").read_text("utf-8").strip())
    except OSError:
        return ""

"""What this machine lacks for an experiment, and the environments that are made on it."""

from __future__ import annotations

import functools
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from bench import LAB, Bench
from experiment import Needs

CHECKOUT = LAB.parents[1]
PLUG = "ip link add br0 type bridge && ip link add eth0 type veth peer name port0 && mount -t tmpfs none /mnt"


def lacks(needs: Needs) -> str:
    """What an experiment needs and this machine has not."""
    lacking = [f"the program {p} (package {' '.join(needs.packages)})" for p in needs.programs if not shutil.which(p)]
    lacking += [p for p in needs.paths if not Path(p).exists()]
    if needs.root and os.geteuid() != 0:
        lacking.append("root")
    if needs.gpu and not Path("/dev/nvidia0").exists():
        lacking.append("a GPU")
    if needs.environment and not _python(needs.environment):
        lacking.append(f"python{_version(needs.environment)} with venv")
    return ", ".join(lacking) or _no_hosts()


@functools.cache
def _no_hosts() -> str:
    """Why the bench could not have hosts here, or nothing."""
    if missing := [program for program in ("unshare", "nsenter", "ip") if not shutil.which(program)]:
        return f"Linux with {', '.join(missing)} (packages util-linux, iproute2)"
    as_root = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    hosts = ["unshare", *as_root, "--uts", "--mount", "--net", "sh", "-c", PLUG]
    tried = subprocess.run(hosts, check=False, capture_output=True, text=True)
    return f"namespaces, which are refused here ({tried.stderr.strip()})" if tried.returncode else ""


@functools.cache  # once for all experiments that need them
def install(packages: tuple[str, ...]) -> None:
    """Install Debian packages, where that may be done; whoever else installs something is waited for."""
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        _know_packages()
        command = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "-qq", *packages]
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, env=quiet)


@functools.cache
def _know_packages() -> None:
    """A fresh machine, an image above all, knows of no packages until it is told."""
    if not any(Path("/var/lib/apt/lists").glob("*_Packages*")):
        subprocess.run(["apt-get", "update", "-qq"], check=False, stdout=subprocess.DEVNULL)


def environment(name: str, where: Path) -> Path:
    """The virtual environment of that name, made from environments/NAME.txt when it is not there yet."""
    wanted, made = LAB / "environments" / f"{name}.txt", where / name
    ready = made / ".ready"
    if not (ready.exists() and ready.read_text("utf-8") == wanted.read_text("utf-8")):
        shutil.rmtree(made, ignore_errors=True)  # one that was given up half-way, or is of other versions
        subprocess.run([_python(name) or "", "-m", "venv", "--without-pip", made], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(made / "bin/python"), "install", "-qq"]
        subprocess.run([*pip, "-r", wanted], check=True, cwd="/tmp")
        shutil.copyfile(wanted, ready)
    return made


def _python(name: str) -> str | None:
    """The interpreter for an environment, where this machine has it."""
    version = _version(name)
    places = f"/usr/bin:/usr/local/bin:/opt/python{version}/bin:{os.environ['PATH']}"
    return shutil.which(f"python{version}", path=places)


def _version(name: str) -> str:
    """The Python that the first line of an environment names: ``# python 3.11``."""
    named = re.match(r"# python ([\d.]+)", (LAB / "environments" / f"{name}.txt").read_text("utf-8"))
    return named[1] if named else "3.11"


def versions(name: str, bench: Bench) -> dict[str, str]:
    """The versions of Python and of the packages that an environment names, and what else the bench has noted."""
    if not name:
        return bench.versions
    lines = (LAB / "environments" / f"{name}.txt").read_text("utf-8").splitlines()
    packages = [found[0] for line in lines if (found := re.match(r"[A-Za-z][\w.-]*", line))]
    ask = "import sys, platform, importlib.metadata as m\nprint('python', platform.python_version())\n"
    ask += "for p in sys.argv[1:]: print(p, m.version(p))"
    told = subprocess.run([bench.python, "-c", ask, *packages], check=True, capture_output=True, text=True).stdout
    return {**dict(line.split() for line in told.splitlines()), **bench.versions}


def private_words() -> list[str]:
    """Words of this machine that no log may hold."""
    words = (socket.gethostname(), str(CHECKOUT), str(Path.home()))
    return [word for word in words if word not in {"localhost", "/"}]

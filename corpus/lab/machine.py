"""Missing needs of this machine, and the virtual environments of the lab."""

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
    """Return the needs of an experiment that this machine does not have."""
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
    """Return why this machine cannot have the hosts of a bench, or ""."""
    if missing := [program for program in ("unshare", "nsenter", "ip") if not shutil.which(program)]:
        return f"Linux with {', '.join(missing)} (packages util-linux, iproute2)"
    as_root = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    hosts = ["unshare", *as_root, "--uts", "--mount", "--net", "sh", "-c", PLUG]
    tried = subprocess.run(hosts, check=False, capture_output=True, text=True)
    return f"namespaces, which are refused here ({tried.stderr.strip()})" if tried.returncode else ""


@functools.cache  # many experiments need the same packages
def install(packages: tuple[str, ...]) -> None:
    """Install Debian packages if the user is root. Wait if another program holds the lock."""
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        _update_packages()
        command = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "-qq", *packages]
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, env=quiet)


@functools.cache
def _update_packages() -> None:
    """Fetch the lists of packages if the machine has none, as a fresh image."""
    if not any(Path("/var/lib/apt/lists").glob("*_Packages*")):
        subprocess.run(["apt-get", "update", "-qq"], check=False, stdout=subprocess.DEVNULL)


def make_environment(name: str, where: Path) -> Path:
    """Return the virtual environment of that name; make it from environments/NAME.txt if needed."""
    packages, folder = LAB / "environments" / f"{name}.txt", where / name
    ready = folder / ".ready"
    if not (ready.exists() and ready.read_text("utf-8") == packages.read_text("utf-8")):
        shutil.rmtree(folder, ignore_errors=True)  # it was left unfinished, or has other versions
        subprocess.run([_python(name) or "", "-m", "venv", "--without-pip", folder], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "-qq"]
        subprocess.run([*pip, "-r", packages], check=True, cwd="/tmp")
        shutil.copyfile(packages, ready)
    return folder


def _python(name: str) -> str | None:
    """Return the interpreter for an environment, None if this machine has none."""
    version = _version(name)
    places = f"/usr/bin:/usr/local/bin:/opt/python{version}/bin:{os.environ['PATH']}"
    return shutil.which(f"python{version}", path=places)


def _version(name: str) -> str:
    """Return the Python version from the first line of an environment: ``# python 3.11``."""
    match = re.match(r"# python ([\d.]+)", (LAB / "environments" / f"{name}.txt").read_text("utf-8"))
    return match[1] if match else "3.11"


def versions(name: str, bench: Bench) -> dict[str, str]:
    """Return the versions of Python and packages, and those noted by the bench."""
    if not name:
        return bench.versions
    lines = (LAB / "environments" / f"{name}.txt").read_text("utf-8").splitlines()
    packages = [match[0] for line in lines if (match := re.match(r"[A-Za-z][\w.-]*", line))]
    ask = "import sys, platform, importlib.metadata as m\nprint('python', platform.python_version())\n"
    ask += "for p in sys.argv[1:]: print(p, m.version(p))"
    output = subprocess.run([bench.python, "-c", ask, *packages], check=True, capture_output=True, text=True).stdout
    return {**dict(line.split() for line in output.splitlines()), **bench.versions}


def private_words() -> list[str]:
    """Return the words of this machine that no log may hold."""
    words = (socket.gethostname(), str(CHECKOUT), str(Path.home()))
    return [word for word in words if word not in {"localhost", "/"}]

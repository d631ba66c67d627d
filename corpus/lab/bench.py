"""The hosts of an experiment, and the programs started on them.

A host is a set of Linux namespaces (names, mounts, network). A sleeping process holds the namespaces open. All hosts
of a bench are connected to one switch and to nothing else. So no log shows the real machine. No experiment reaches
the Internet or the ports of another experiment. A user without root rights gets the hosts in a user namespace.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

LAB = Path(__file__).resolve().parent
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Bench:
    """The folder, environment and hosts of one experiment."""

    def __init__(self, folder: Path, environment: Path | None, seconds: float) -> None:
        """Empty ``folder``, the working directory of all programs. Their logs go into ``folder/logs``."""
        shutil.rmtree(folder, ignore_errors=True)
        self.folder, self.logs, self.environment = folder, folder / "logs", environment
        self.logs.mkdir(parents=True)
        for program in (LAB / "programs").iterdir():
            if program.is_file():
                shutil.copy(program, folder)
        self.versions: dict[str, str] = {}
        self.ends = time.monotonic() + seconds
        self.overran = False
        self._hosts: dict[str, Host] = {}

    @property
    def python(self) -> str:
        return str(self.environment / "bin" / "python") if self.environment else "/usr/bin/python3"

    def host(self, name: str = "gpu-a01", address: str = "") -> Host:
        """Return the host of that name, new at the first call. Addresses begin at 10.20.0.11."""
        if name not in self._hosts:
            number = len(self._hosts)
            self._hosts[name] = Host(self, name, address or f"10.20.0.{11 + number}")
        return self._hosts[name]

    @property
    def hosts(self) -> tuple[Host, ...]:
        return tuple(self._hosts.values())

    def run(self, *command: str, **options: object) -> int:
        """Run a command on the first host and return its exit status. See `Host.start`."""
        return (next(iter(self._hosts.values()), None) or self.host()).run(*command, **options)

    def clear(self) -> None:
        """Kill all processes of the hosts, and remove the hosts."""
        for host in self.hosts:
            host.close()


class Host:
    """A host of the bench."""

    def __init__(self, bench: Bench, name: str, address: str) -> None:
        """Open the namespaces and connect the host to the first host, the switch."""
        self.bench, self.name, self.address = bench, name, address
        others = bench.hosts
        self._as_root = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
        holder = [*self._rights(others), "unshare", "--uts", "--mount", "--net", "sleep", "infinity"]
        self._holder = subprocess.Popen(holder, start_new_session=True)
        while not self._ready():
            if self._holder.poll() is not None:
                raise OSError(f"no host: {' '.join(holder)} ends with {self._holder.returncode}")
            time.sleep(0.01)
        try:
            self._plug(others[0] if others else None)
            for host in (*others, self):
                host._know((*others, self))
        except BaseException:
            self.close()  # the bench does not have this host in its list yet
            raise

    def _rights(self, others: Sequence[Host]) -> list[str]:
        """Return the command that enters the user namespace of all hosts."""
        if not self._as_root:
            return []
        if not others:
            return ["unshare", "--user", "--map-root-user"]
        return ["nsenter", "-t", str(others[0]._holder.pid), *self._as_root, "--"]

    def _ready(self) -> bool:
        return Path(f"/proc/{self._holder.pid}/comm").read_text().strip() == "sleep"

    def _plug(self, switch: Host | None) -> None:
        self.sh(f"hostname {self.name}; ip link set lo up")
        if switch is None:
            self.sh("ip link add br0 type bridge && ip link set br0 up")
            switch = self
        port = f"port{len(self.bench.hosts)}"
        self.sh(f"ip link add eth0 type veth peer name {port} netns {switch._holder.pid}")
        switch.sh(f"ip link set {port} master br0 up")
        self.sh(f"ip addr add {self.address}/24 dev eth0 && ip link set eth0 up")

    def _know(self, hosts: Sequence[Host]) -> None:
        """Write the names of all hosts into /etc/hosts of this host."""
        path = self.bench.folder / f".hosts-{self.name}"
        names = [f"{h.address} {h.name}" for h in hosts]
        path.write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
        self.sh(f"umount /etc/hosts 2>/dev/null; mount --bind {path} /etc/hosts")

    def sh(self, script: str) -> None:
        """Prepare the host by a shell script (mounts, limits, interfaces). Its output is no log."""
        subprocess.run([*self._enter(), "sh", "-c", script], check=True, stdin=subprocess.DEVNULL)

    def _enter(self) -> list[str]:
        return ["nsenter", *self._as_root, *self.door]

    @property
    def door(self) -> tuple[str, ...]:
        """Return the arguments of nsenter to enter this host."""
        return ("-t", str(self._holder.pid), "--uts", "--mount", "--net", "--")

    def start(
        self,
        *command: str,
        log: str = "job.log",
        env: Mapping[str, str] | None = None,
        on: Mapping[str, Callable[[Running], object]] | None = None,
        append: bool = False,
    ) -> Running:
        """Start a command and write both its streams into the log.

        ``on``: expressions, and what to do at the first line that matches.
        ``log``: a file in the folder of the logs; ``""`` throws the output away.
        """
        path = self.bench.logs / log if log else Path(os.devnull)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
        bins = f"{self.bench.environment}/bin:" if self.bench.environment else ""
        home = str(self.bench.folder)
        base = {
            "PATH": bins + SYSTEM_PATH,
            "HOME": home,
            "USER": "trainer",
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
        }
        process = subprocess.Popen(
            [*self._enter(), "env", "--default-signal=INT,HUP,TERM", "-C", home, *command],
            env={**base, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return Running(self, process, path, on or {}, append=append)

    def run(self, *command: str, timeout: float = 180, **options: object) -> int:
        """Run a command, at most ``timeout`` seconds; arguments as for `start`."""
        return self.start(*command, **options).wait(timeout)  # type: ignore[arg-type]

    def processes(self) -> list[int]:
        """Return the processes on this host, oldest first."""
        if not (space := _space(self._holder.pid)):
            return []  # the host was switched off
        return [p for p in sorted(map(int, filter(str.isdigit, os.listdir("/proc")))) if _space(p) == space]

    def rank(self, rank: int) -> int:
        """Return the process of a rank: the oldest process with RANK=… in its environment.

        The names of MPI and Slurm count as well; LOCAL_RANK counts if no process has another one.
        """
        names = ("RANK|OMPI_COMM_WORLD_RANK|PMI_RANK|SLURM_PROCID", "LOCAL_RANK")
        signs = [re.compile(rf"\0(?:{name})={rank}\0".encode()) for name in names]
        environs = {p: b"\0" + _read(p, "environ") for p in self.processes()}
        # Children of a rank (loader workers) have the same environment, so the oldest process is the rank.
        return next(p for sign in signs for p, environ in environs.items() if sign.search(environ))

    def kill(self, rank: int, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the process of a rank."""
        os.kill(self.rank(rank), number)

    def signal(self, process: int, number: signal.Signals) -> None:
        os.kill(process, number)

    def close(self) -> None:
        """Kill all processes of the host, and remove its Open MPI session folders."""
        for process in self.processes():
            _signal(process, signal.SIGKILL)
        self._holder.wait()
        for sessions in Path("/tmp").glob(f"ompi.{self.name}.*"):
            shutil.rmtree(sessions, ignore_errors=True)


class Running:
    """A command that runs on a host."""

    def __init__(
        self,
        host: Host,
        process: subprocess.Popen[bytes],
        log: Path,
        on: Mapping[str, Callable[[Running], object]],
        *,
        append: bool,
    ) -> None:
        self.host, self.process, self.log, self.last = host, process, log, b""
        self._on = [(re.compile(pattern.encode()), react) for pattern, react in on.items()]
        self._reader = threading.Thread(target=self._read, args=(log, "ab" if append else "wb"), daemon=True)
        self._reader.start()

    def _read(self, log: Path, mode: str) -> None:
        assert self.process.stdout
        with log.open(mode) as file:
            for line in self.process.stdout:
                file.write(line)
                file.flush()
                self.last = line
                for pair in [p for p in self._on if p[0].search(line)]:
                    self._on.remove(pair)
                    pair[1](self)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command itself, the launcher, not to its ranks."""
        os.kill(self.process.pid, number)

    def wait(self, timeout: float = 180) -> int:
        """Wait until the command and its output end, at most ``timeout`` seconds."""
        ends = min(time.monotonic() + timeout, self.host.bench.ends)
        try:
            self.process.wait(max(0.1, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.host.bench.overran = True
            self.stop()
        self._reader.join(5)
        return self.process.wait()

    def stop(self) -> None:
        """Kill all processes of the host. The log then ends without a message, as after a hang."""
        holder = self.host._holder.pid
        for process in self.host.processes():
            if process != holder:
                _signal(process, signal.SIGKILL)
        _signal(self.process.pid, signal.SIGKILL)


def _space(process: int) -> int:
    try:
        return os.stat(f"/proc/{process}/ns/uts").st_ino
    except OSError:
        return 0


def _read(process: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:
        return b""


def _signal(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)

"""A Slurm cluster. Its controller and nodes are hosts of the bench."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from pathlib import Path

from bench import SYSTEM_PATH, Bench, Host
from experiment import Needs

PACKAGES = ("slurm-wlm", "munge", "iproute2")
PROGRAMS = ("slurmctld", "slurmd", "srun", "munged", "setpriv")
MEMORY = Path("/sys/fs/cgroup/memory")

CONFIGURATION = """\
ClusterName=lab
SlurmctldHost=head01
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
SlurmdParameters=config_overrides
SlurmctldParameters=idle_on_node_suspend
MpiDefault=none
ProctrackType=proctrack/{tracking}
TaskPlugin=task/{task}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=500
SchedulerParameters=bf_interval=1,sched_interval=2,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdTimeout=6
InactiveLimit=0
KillWait=2
BatchStartTimeout=5
TCPTimeout=2
MessageTimeout=4
ReturnToService=2
{accounting}
{nodes}
PartitionName=train Nodes=ALL Default=YES MaxTime=60 State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=60 State=UP PriorityTier=10 PreemptMode=OFF
"""

ACCOUNTING = """\
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=head01
AccountingStoragePass={folder}/munge/munge.socket
AccountingStorageEnforce=limits"""
DATABASE = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.socket
DbdHost=head01
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost={address}
StorageUser=slurm
StoragePass=slurm
LogFile={folder}/log/slurmdbd.log
PidFile={folder}/run/slurmdbd.pid
"""
ACCOUNTING_PACKAGES = ("slurmdbd", "mariadb-server")


def needs(*programs: str, environment: str = "", packages: tuple[str, ...] = (), limits: bool = False) -> Needs:
    """Return the needs of an experiment on the cluster.

    ``limits``: the experiment limits memory, by the memory controller of cgroups v1.
    """
    paths = (str(MEMORY),) if limits else ()
    return Needs(
        root=True,
        environment=environment,
        programs=(*PROGRAMS, *programs),
        packages=(*PACKAGES, *packages),
        paths=paths,
    )


class Cluster:
    """Slurm on the hosts head01, node01, node02 … of a bench. Commands run on head01."""

    def __init__(self, bench: Bench, nodes: int = 2, more: str = "", *, accounting: bool = False) -> None:
        """Start munge, the controller and the nodes. ``more`` is added to slurm.conf.

        ``accounting``: start MariaDB and slurmdbd too, which sacct asks.
        """
        self.bench, self.folder = bench, bench.folder / "slurm"
        self.head = bench.host("head01")
        self.nodes = {f"node{n:02d}": bench.host(f"node{n:02d}") for n in range(1, nodes + 1)}
        self._configure(more, accounting=accounting)
        self._munge()
        if accounting:
            self._account()
        self._start(self.head, "slurmctld", "-i")
        for name, node in self.nodes.items():
            self._start(node, "slurmd", "-N", name)
        self._wait_until_idle()
        version = subprocess.run(["slurmctld", "-V"], check=True, capture_output=True, text=True).stdout
        bench.versions["slurm"] = version.split()[-1]

    @property
    def env(self) -> dict[str, str]:
        """Return the environment variables of Slurm's commands."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": f"{self.bench.folder}/bin:{SYSTEM_PATH}"}

    def run(self, *command: str, **options: object) -> int:
        """Run a command on head01. Its output is the log."""
        return self.head.run(*command, env={**self.env, **options.pop("env", {})}, **options)  # type: ignore[dict-item]

    def quietly(self, script: str) -> str:
        """Run a shell command on head01 and return its output, outside of the log."""
        inside = [*self.head._enter(), "env", "-C", str(self.bench.folder), "sh", "-c", script]
        done = subprocess.run(
            inside, env={**os.environ, **self.env}, capture_output=True, text=True, check=False, timeout=30
        )
        return done.stdout

    def submit(self, script: str, *options: str, env: dict[str, str] | None = None, log: str = "slurm-%j.log") -> int:
        """Submit a batch script, whose output is a log. Return the number of the job, 0 if refused."""
        path = self.bench.folder / "job.sh"
        path.write_text(f"#!/bin/bash\n{script}\n")
        answer = self.bench.logs / "sbatch.log"
        self.run("sbatch", "-o", str(self.bench.logs / log), *options, str(path), log=answer.name, env=env or {})
        job = re.search(r"Submitted batch job (\d+)", answer.read_text("utf-8"))
        return int(job[1]) if job else 0

    def wait(
        self,
        job: int,
        state: str = "COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|PREEMPTED|OUT_OF_MEMORY",
        seconds: float = 60,
    ) -> None:
        """Wait until a job is in a state."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not re.search(
            f"JobState=(?:{state})", self.quietly(f"scontrol show job {job}")
        ):
            time.sleep(0.3)
        time.sleep(0.5)

    def wait_for(self, log: str, words: str, seconds: float = 30) -> None:
        """Wait until a log of the case holds these words."""
        ends, path = time.monotonic() + seconds, self.bench.logs / log
        while time.monotonic() < ends and not (path.exists() and words in path.read_text("utf-8", "replace")):
            time.sleep(0.1)

    def end_now(self, job: int) -> None:
        """End the time limit of a job now, because limits are whole minutes."""
        self.quietly(f"scontrol update jobid={job} EndTime=now")

    def daemon_log(self, name: str) -> None:
        """Copy the log of a daemon (``slurmctld``, ``slurmd-node01``) to the logs of the case."""
        (self.bench.logs / f"{name}.log").write_bytes((self.folder / "log" / f"{name}.log").read_bytes())

    def _configure(self, more: str, *, accounting: bool) -> None:
        for name in ("state", "run", "log", "munge", "database", *(f"spool/{node}" for node in self.nodes)):
            (self.folder / name).mkdir(parents=True)
        lines = [
            f"NodeName={name} NodeAddr={host.address} CPUs=4 RealMemory=4000 State=UNKNOWN"
            for name, host in self.nodes.items()
        ]
        limits = MEMORY.exists()
        text = CONFIGURATION.format(
            folder=self.folder,
            nodes="\n".join(lines),
            tracking="cgroup" if limits else "linuxproc",
            task="cgroup" if limits else "none",
            accounting=ACCOUNTING.format(folder=self.folder) if accounting else "JobAcctGatherType=jobacct_gather/none",
        )
        (self.folder / "slurm.conf").write_text(f"{text}{more}\n")
        cgroups = "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\n"
        (self.folder / "cgroup.conf").write_text(cgroups)

    def _munge(self) -> None:
        """Start one munge daemon for all hosts, which reach its socket by a file."""
        place = self.folder / "munge"
        (place / "key").write_bytes(os.urandom(1024))
        prepare = f"chown -R munge: {place} && chmod 400 {place}/key"
        subprocess.run(["sh", "-c", prepare], check=True)
        files = [f"--{name}-file={place}/{name}" for name in ("key", "pid", "log", "seed")]
        as_munge = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups"]
        munged = [*as_munge, "munged", "--force", f"--socket={place}/munge.socket", *files]
        subprocess.run([*self.head._enter(), *munged], check=True, capture_output=True)

    def _account(self) -> None:
        """Start MariaDB and slurmdbd on head01, and enter the cluster, an account and its user."""
        place = self.folder / "database"
        settings = self.folder / "slurmdbd.conf"
        settings.write_text(DATABASE.format(folder=self.folder, address=self.head.address))
        settings.chmod(0o600)
        (place / "init.sql").write_text(
            "create user slurm@'%' identified by 'slurm';\ngrant all on *.* to slurm@'%';\n"
        )
        files = [f"--datadir={place}/data", "--user=root"]
        subprocess.run(["mysql_install_db", "--skip-test-db", *files], check=True, capture_output=True)
        options = (f"--bind-address={self.head.address}", f"--socket={place}/socket", f"--init-file={place}/init.sql")
        self._start(self.head, "sh", "-c", shlex.join(["mariadbd", *files, *options]) + f" >{place}/log 2>&1 &")
        self._wait_for_port(3306)
        self._start(self.head, "slurmdbd")
        self._wait_for_port(6819)
        for entity in ("cluster lab", "account team cluster=lab", "user root account=team"):
            self.quietly(f"sacctmgr -i add {entity}")

    def _wait_for_port(self, port: int) -> None:
        ends = time.monotonic() + 30
        while time.monotonic() < ends and f":{port} " not in self.quietly("ss -ltn"):
            time.sleep(0.2)

    def _start(self, host: Host, *daemon: str) -> None:
        subprocess.run(
            [*host._enter(), "env", *(f"{k}={v}" for k, v in self.env.items()), *daemon],
            check=True,
            capture_output=True,
        )

    def _wait_until_idle(self) -> None:
        ends = time.monotonic() + 20
        while time.monotonic() < ends:
            if self.quietly("sinfo -h -o %T -N").split() == ["idle"] * len(self.nodes) * 2:
                return
            time.sleep(0.2)
        raise TimeoutError(self.quietly("sinfo -R; sinfo"))

"""Slurm jobs that meet what administrators did: drained nodes, failing prologs, no munge; and scripts as editors left them."""

from __future__ import annotations

import time

from bench import Bench
from slurm import Cluster
from slurm_steps import TOKENIZE, script, slurm, step


def without_munge(bench: Bench) -> None:
    """The munge daemon is not there when a job is submitted."""
    cluster = Cluster(bench)
    cluster.quietly(f"kill -9 $(cat {cluster.folder}/munge/pid); rm -f {cluster.folder}/munge/munge.socket")
    cluster.run("srun", "-n2", *TOKENIZE, timeout=60)


def with_prolog(bench: Bench, setting: str, name: str, command: str) -> None:
    """The site has Slurm run a script of that ``name`` before each job, as ``setting`` says with the script's place."""
    prolog = bench.folder / name
    prolog.write_text(f"#!/bin/sh\n{command}\n")
    prolog.chmod(0o755)
    cluster = Cluster(bench, more=setting.format(prolog))
    cluster.run("srun", "-N2", "-n4", *TOKENIZE, timeout=30)


def dos_script(bench: Bench) -> None:
    """The script was edited on Windows."""
    cluster = Cluster(bench)
    (bench.folder / "job.sh").write_bytes(b"#!/bin/bash\r\n#SBATCH -N2\r\nsrun hostname\r\n")
    cluster.run("sbatch", "job.sh")


def ended_allocation(bench: Bench) -> None:
    """A shell still has the environment of an allocation whose time is up."""
    cluster = Cluster(bench)
    job = cluster.submit("sleep 2", "-n2")
    cluster.wait(job)
    time.sleep(1)
    for log in bench.logs.glob("*.log"):
        log.unlink()
    cluster.run("srun", "-n2", *TOKENIZE, env={"SLURM_JOB_ID": str(job), "SLURM_JOBID": str(job)}, timeout=30)


EXPERIMENTS = (
    slurm(
        "munge-down-srun",
        "job.launch",
        "The munge daemon is not running",
        "munged died on the login node. srun cannot say who its user is, and nothing is started.",
        without_munge,
        "Munge encode failed|munged",
        also=("job.resources",),
    ),
    slurm(
        "failing-prolog-srun",
        "job.launch",
        "The prolog of the site fails on a node",
        "A prolog that looks for the scratch file system fails on node02. Slurm drains the node, and the step is never started.",
        lambda b: with_prolog(
            b,
            "Prolog={}\nPrologFlags=Alloc",
            "prolog.sh",
            '[ "$SLURMD_NODENAME" = node01 ] || { echo "scratch is not mounted" >&2; exit 1; }',
        ),
        "Prolog failure",
        also=("host.node-failure", "job.resources"),
    ),
    slurm(
        "failing-task-prolog-srun",
        "job.launch",
        "The task prolog of the site fails",
        "The task prolog calls the command module, which the nodes do not know; no task is started.",
        lambda b: with_prolog(b, "TaskProlog={}", "task_prolog.sh", "module load site-defaults || exit 3"),
        "task_prolog|TaskProlog",
    ),
    slurm(
        "dos-line-breaks-sbatch",
        "job.launch",
        "The batch script has the line breaks of Windows",
        "The script was edited on Windows and its lines end with carriage returns. sbatch refuses it.",
        dos_script,
        "DOS line breaks",
        also=("app.config",),
    ),
    slurm(
        "ended-allocation-srun",
        "job.launch",
        "The allocation of the shell has ended",
        "A shell still has SLURM_JOB_ID of an allocation that is over. srun in it would make a step of that job.",
        ended_allocation,
        "Unable to confirm allocation|Invalid job|Expired or invalid job",
        also=("job.resources", "job.time-limit"),
    ),
    slurm(
        "drained-nodes-srun",
        "job.resources",
        "All nodes are drained",
        "Both nodes were drained for maintenance. srun is queued, and waits.",
        lambda b: step(
            b, "-N2", *TOKENIZE, prepare="scontrol update nodename=node[01-02] state=drain reason=maintenance"
        ),
        "queued and waiting for resources|Required node not available",
        hung=True,
    ),
    slurm(
        "unknown-host-in-script-sbatch",
        "net.dns",
        "A step's program asks for a host that has no name here",
        "The step opens a connection to a data server whose name the nodes do not know; no name service answers there.",
        lambda b: script(
            b,
            "srun -n2 /usr/bin/python3 -c \"import socket; socket.create_connection(('data-store.cluster.example', 2049), 5)\"",
            "-n2",
        ),
        "Name or service not known|name resolution",
        also=("app.exception",),
    ),
)

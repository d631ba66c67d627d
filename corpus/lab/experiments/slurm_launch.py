"""Slurm jobs and steps that are refused, or whose program cannot be started."""

from __future__ import annotations

from functools import partial

from bench import Bench
from slurm import Cluster
from slurm_steps import PARALLEL, TOKENIZE, script, slurm, step


def without(bench: Bench, daemon: str) -> None:
    """A daemon is not there when a job is submitted."""
    cluster = Cluster(bench)
    cluster.quietly(f"kill -9 $(cat {cluster.folder}/{daemon})")
    cluster.run("srun", "-n2", *TOKENIZE, timeout=40)


EXPERIMENTS = (
    slurm(
        "missing-program-srun",
        "job.launch",
        "The program of a step is not there",
        "srun shall start a program that no node has.",
        lambda b: step(b, "-l", "-N2", "-n4", "./tokenise", "--shards", "40"),
        "execve()",
    ),
    slurm(
        "not-executable-srun",
        "job.launch",
        "The program of a step may not be executed",
        "srun shall start a file without the right to execute it.",
        lambda b: step(b, "-n2", "./train.sh", prepare="cp tokenize_shards.py train.sh; chmod 644 train.sh"),
        "Permission denied",
        also=("host.filesystem",),
    ),
    slurm(
        "missing-interpreter-srun",
        "job.launch",
        "The interpreter of the program is not there",
        "srun starts a script whose first line names an interpreter that is not installed on the nodes.",
        lambda b: step(
            b,
            "-N1",
            "-n2",
            "./run.py",
            prepare="(echo '#!/opt/conda/envs/train/bin/python'; cat tokenize_shards.py) > run.py; chmod 755 run.py",
        ),
        "execve()",
    ),
    slurm(
        "bad-output-srun",
        "job.launch",
        "The folder of the output files is not there",
        "The step's output shall go to a folder that does not exist.",
        lambda b: step(b, "-n2", "-o", "/scratch/run7/task-%t.out", *TOKENIZE),
        "launch failed",
        also=("host.filesystem",),
    ),
    slurm(
        "module-missing-sbatch",
        "job.launch",
        "The batch script calls programs that are not there",
        "The batch script loads a module and starts a program; neither the command module nor the program is there.",
        lambda b: script(
            b,
            "set -e\nsource /etc/profile.d/modules.sh\nmodule load cuda/12.4\nsrun -n2 python-train --shards 4",
            "-n2",
        ),
        "modules.sh",
    ),
    slurm(
        "bad-argument-srun",
        "app.config",
        "The program does not know an option",
        f"{PARALLEL} It is started with an option that it does not know.",
        lambda b: step(b, "-n2", *TOKENIZE, "--learning-rate", "3e-4"),
        "unrecognized arguments",
    ),
    slurm(
        "invalid-partition-srun",
        "job.launch",
        "The partition does not exist",
        "srun asks for a partition that the cluster does not have.",
        lambda b: step(b, "-p", "gpu-a100", "-n2", *TOKENIZE),
        "partition",
        also=("job.launch", "job.resources"),
    ),
    slurm(
        "invalid-partition-sbatch",
        "job.launch",
        "The partition of a batch job does not exist",
        "sbatch asks for a partition that the cluster does not have.",
        lambda b: script(b, "srun hostname", "-p", "debug", "-N1"),
        "partition",
        also=("job.launch", "job.resources"),
    ),
    slurm(
        "too-many-nodes-srun",
        "job.resources",
        "More nodes than the cluster has",
        "srun asks for eight nodes of a cluster of two.",
        lambda b: step(b, "-N8", *TOKENIZE),
        "queued and waiting for resources",
        hung=True,
    ),
    slurm(
        "too-much-memory-sbatch",
        "job.resources",
        "More memory than a node has",
        "sbatch asks for a terabyte of memory on one node.",
        lambda b: script(b, "srun hostname", "-N1", "--mem=1000G"),
        "Memory",
    ),
    slurm(
        "no-gpus-srun",
        "job.resources",
        "GPUs of a cluster that has none",
        "srun asks for eight GPUs on each node; the nodes have none.",
        lambda b: step(b, "-N2", "--gpus-per-node=8", *TOKENIZE),
        "generic resource",
        also=("job.launch", "job.resources"),
    ),
    slurm(
        "busy-nodes-srun",
        "job.resources",
        "The nodes are busy and srun shall not wait",
        "Another job holds both nodes; srun --immediate gives up after two seconds.",
        lambda b: step(
            b,
            "--immediate=2",
            "-N2",
            "--exclusive",
            *TOKENIZE,
            prepare="sbatch -N2 --exclusive -o /dev/null --wrap 'sleep 60'; sleep 2",
        ),
        "Unable to allocate resources",
    ),
    slurm(
        "step-too-large-sbatch",
        "job.resources",
        "A step asks for more than the job has",
        "The batch job has two processors; its step asks for eight tasks.",
        lambda b: script(b, "echo preparing data\nsrun -n8 hostname", "-N1", "-n2"),
        "Unable to create step",
    ),
    slurm(
        "controller-down-srun",
        "job.launch",
        "The controller of Slurm does not answer",
        "srun is called while the controller is down.",
        partial(without, daemon="run/slurmctld.pid"),
        "Unable to",
        also=("host.node-failure", "job.resources"),
    ),
)

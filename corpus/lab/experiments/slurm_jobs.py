"""Slurm jobs that are refused, limited, cancelled or lose a node; and such as end well."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench import Bench
from experiment import Experiment
from slurm import Cluster, needs

TOKENIZE = ("/usr/bin/python3", "tokenize_shards.py")
STEP = "srun {} /usr/bin/python3 tokenize_shards.py {}"


def fault(kind: str, rank: int = 1, step: int = 5) -> dict[str, str]:
    """The environment that makes the program break; see programs/tokenize_shards.py."""
    return {"LAB_FAULT": kind, "LAB_RANK": str(rank), "LAB_STEP": str(step)}


def step(
    bench: Bench,
    *command: str,
    env: dict[str, str] | None = None,
    prepare: str = "true",
    on: Callable[[Cluster], dict[str, Any]] | None = None,
) -> None:
    """Run srun on the head node."""
    cluster = Cluster(bench)
    cluster.quietly(prepare)
    cluster.run("srun", *command, env=env or {}, on=on(cluster) if on else {})


def script(
    bench: Bench,
    text: str,
    *options: str,
    env: dict[str, str] | None = None,
    then: Callable[[Cluster, int], None] | None = None,
) -> None:
    """Submit a batch script and do something to it once its third shard is done."""
    cluster = Cluster(bench)
    job = cluster.submit(text, *options, env=env)
    if job and then:
        cluster.wait_for(f"slurm-{job}.log", "shard 1")
        time.sleep(1)
        then(cluster, job)
    if job:
        cluster.wait(job)
    (bench.logs / "sbatch.log").unlink() if job else None


def node_dies(bench: Bench, *, batch: bool) -> None:
    """The second node dies with all that runs on it."""
    cluster = Cluster(bench)

    def dies(_: object) -> None:
        cluster.nodes["node02"].sh("ip link set eth0 down")
        for process in cluster.nodes["node02"].processes()[1:]:
            cluster.quietly(f"kill -9 {process}")

    long = STEP.format("-l -N2 -n4", "--shards 4000")
    if batch:
        job = cluster.submit(f"echo starting on $SLURM_JOB_NODELIST\n{long}", "-N2", "-n4", "--no-requeue")
        cluster.wait_for(f"slurm-{job}.log", "shard 1")
        dies(None)
        cluster.wait(job)
        cluster.daemon_log("slurmctld")
        (bench.logs / "sbatch.log").unlink()
    else:
        cluster.run(*long.split(), on={"shard 9/": dies}, timeout=60)


def preempted(bench: Bench) -> None:
    """A job of a partition with more priority takes the nodes."""
    cluster = Cluster(bench)
    job = cluster.submit(STEP.format("-l -n8", "--shards 4000"), "-N2", "-n8", "--no-requeue")
    cluster.wait_for(f"slurm-{job}.log", "shard 1")
    cluster.quietly("srun -p urgent -N2 -n8 true")
    cluster.wait(job)
    (bench.logs / "sbatch.log").unlink()


def without(bench: Bench, daemon: str) -> None:
    """A daemon is not there when a job is submitted."""
    cluster = Cluster(bench)
    cluster.quietly(f"kill -9 $(cat {cluster.folder}/{daemon})")
    cluster.run("srun", "-n2", *TOKENIZE, timeout=40)


def interrupted(bench: Bench) -> None:
    """Somebody presses Ctrl-C twice."""
    cluster = Cluster(bench)

    def presses(_: object) -> None:
        for _ in range(2):
            for process in cluster.head.processes():
                cluster.quietly(f"grep -q ^srun /proc/{process}/comm && kill -INT {process}")
            time.sleep(0.3)

    cluster.run("srun", "-l", "-N2", "-n4", *TOKENIZE, "--shards", "4000", on={"shard 40/": presses}, timeout=30)


def cancels(*how: str) -> Callable[[Cluster, int], None]:
    """Somebody cancels the job."""
    return lambda cluster, job: cluster.quietly(f"scancel {' '.join(how)} {job}") and None


def time_is_up(cluster: Cluster, job: int) -> None:
    """The time limit of the job is reached."""
    cluster.end_now(job)


def requeued(cluster: Cluster, job: int) -> None:
    """An administrator puts the job back into the queue, and holds it there."""
    cluster.quietly(f"scontrol requeuehold {job}")
    time.sleep(4)
    cluster.quietly(f"scancel {job}")


def slurm(
    case: str, label: str, title: str, told: str, run: Callable[[Bench], None], evidence: str = "", **more: Any
) -> Experiment:
    """An experiment on the cluster."""
    wants = more.pop("needs", needs())
    return Experiment(
        case=case,
        label=label,
        title=title,
        story=f"A small Slurm cluster has a head node and two nodes of four processors. {told}",
        run=run,
        needs=wants,
        evidence=tuple(evidence.split("|")) if evidence else (),
        seconds=110,
        **more,
    )


PARALLEL = "A program in Python tokenises text in several tasks."
LONG = "--shards 4000 --pause 0.4"

EXPERIMENTS = (
    slurm(
        "time-limit-sbatch",
        "job.time-limit",
        "A batch job reaches its time limit",
        f"{PARALLEL} The batch job's time is up before it has come to its end.",
        lambda b: script(b, STEP.format("-l -n4", LONG), "-N2", "-n4", then=time_is_up),
        "DUE TO TIME LIMIT",
    ),
    slurm(
        "time-limit-of-hang-sbatch",
        "job.time-limit",
        "A task hangs, and the batch job reaches its time limit",
        f"{PARALLEL} Task 1 stands in its own code after five shards, the others finish; the job waits for it until its time is up.",
        lambda b: script(b, STEP.format("-l -n4", ""), "-N1", "-n4", env=fault("hang"), then=time_is_up),
        "DUE TO TIME LIMIT",
        also=("app.hang",),
    ),
    slurm(
        "oom-srun",
        "host.oom-kill",
        "A task takes more memory than the step has",
        f"{PARALLEL} Task 2 fills its memory; the control group of the step has 120 MB, and the kernel kills it.",
        lambda b: step(b, "-l", "-N2", "-n4", "--mem=120M", *TOKENIZE, env=fault("memory", 2)),
        "oom-kill event|Killed",
        needs=needs(limits=True),
    ),
    slurm(
        "oom-sbatch",
        "host.oom-kill",
        "A batch job takes more memory than it asked for",
        f"{PARALLEL} Task 0 fills its memory; the control group of the job has 100 MB, and the kernel kills it.",
        lambda b: script(
            b,
            f"echo running on $(hostname)\n{STEP.format('-n2', '')}\necho step ended with $?",
            "-N1",
            "-n2",
            "--mem=100M",
            env=fault("memory", 0),
        ),
        "oom-kill event|Killed",
        needs=needs(limits=True),
    ),
    slurm(
        "oom-batch-step-sbatch",
        "host.oom-kill",
        "The batch script itself takes too much memory",
        "A batch script runs its program without srun; the program fills its memory, and the kernel kills it within the control group of 80 MB.",
        lambda b: script(
            b, "/usr/bin/python3 tokenize_shards.py --shards 30", "-n1", "--mem=80M", env=fault("memory", 0, 8)
        ),
        "oom-kill event|Killed",
        needs=needs(limits=True),
    ),
    slurm(
        "scancel-sbatch",
        "job.preempted",
        "Somebody cancels a batch job",
        f"{PARALLEL} Somebody cancels the job by scancel while it runs.",
        lambda b: script(b, STEP.format("-l -n4", LONG), "-N2", "-n4", then=cancels()),
        "CANCELLED AT",
    ),
    slurm(
        "scancel-kill-sbatch",
        "job.preempted",
        "Somebody cancels a batch job with SIGKILL",
        f"{PARALLEL} Somebody cancels the job by scancel --signal=KILL --full while it runs.",
        lambda b: script(b, f"{STEP.format('-n2', LONG)}", "-N1", "-n2", then=cancels("--signal=KILL", "--full")),
        "CANCELLED AT",
        also=("unknown", "collective.rank-died", "mpi.rank-died", "host.oom-kill"),
    ),
    slurm(
        "scancel-step-srun",
        "job.preempted",
        "Somebody cancels the step",
        f"{PARALLEL} Somebody cancels step 0 by scancel; the batch script goes on and says so.",
        lambda b: script(
            b,
            f"{STEP.format('-l -n4', LONG)}\necho step ended with $?",
            "-N2",
            "-n4",
            then=lambda c, j: c.quietly(f"scancel {j}.0") and None,
        ),
        "CANCELLED AT",
    ),
    slurm(
        "interrupted-srun",
        "job.preempted",
        "Somebody presses Ctrl-C twice",
        f"{PARALLEL} Somebody interrupts srun at the terminal, twice.",
        interrupted,
        "srun: ",
    ),
    slurm(
        "requeued-sbatch",
        "job.preempted",
        "A job is put back into the queue",
        f"{PARALLEL} An administrator requeues the job by scontrol while it runs.",
        lambda b: script(b, STEP.format("-l -n4", LONG), "-N2", "-n4", "--requeue", then=requeued),
        "JOB REQUEUE",
    ),
    slurm(
        "preempted-sbatch",
        "job.preempted",
        "A job with more priority takes the nodes",
        f"{PARALLEL} A job of a partition with more priority arrives; the first one is ended.",
        preempted,
        "DUE TO PREEMPTION",
    ),
    slurm(
        "node-lost-srun",
        "host.node-failure",
        "A node dies under a step",
        f"{PARALLEL} The second node loses its network and all its processes while the step runs.",
        partial(node_dies, batch=False),
        "node02",
        culprit={"host": "node02"},
    ),
    slurm(
        "node-lost-sbatch",
        "host.node-failure",
        "A node dies under a batch job",
        f"{PARALLEL} The second node loses its network and all its processes while the job runs. The log of the controller is there.",
        partial(node_dies, batch=True),
        "node02",
        culprit={"host": "node02"},
    ),
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
        "exception-srun",
        "app.exception",
        "A task of a step raises an exception",
        f"{PARALLEL} Task 2 raises KeyError; with --kill-on-bad-exit srun ends the other tasks.",
        lambda b: step(
            b, "-l", "-N2", "-n4", "--kill-on-bad-exit=1", *TOKENIZE, "--shards", "400", env=fault("key", 2)
        ),
        "KeyError",
        culprit={"rank": 2},
    ),
    slurm(
        "decode-error-sbatch",
        "app.exception",
        "A task of a batch job reads bytes that are no text",
        f"{PARALLEL} Task 3 reads a shard that is not UTF-8 and raises UnicodeDecodeError; the others finish.",
        lambda b: script(b, STEP.format("-l -n4", ""), "-N2", "-n4", env=fault("bytes", 3)),
        "UnicodeDecodeError",
        culprit={"rank": 3},
    ),
    slurm(
        "missing-vocabulary-srun",
        "app.exception",
        "A file that all tasks read is not there",
        f"{PARALLEL} All tasks open a vocabulary that is not there.",
        lambda b: step(b, "-l", "-N2", "-n4", *TOKENIZE, "--vocabulary", "/data/vocabulary.json"),
        "vocabulary.json",
        also=("host.filesystem", "app.config"),
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
        expected_wrong="a step that waits in the queue for ever looks healthy: srun prints the same when it waits for a minute",
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
    slurm(
        "healthy-srun",
        "healthy",
        "A step under srun",
        f"{PARALLEL} It comes to its end.",
        lambda b: step(b, "-l", "-N2", "-n4", *TOKENIZE),
    ),
    slurm(
        "healthy-sbatch",
        "healthy",
        "A batch job of two steps",
        f"{PARALLEL} The batch job prepares, runs two steps and says how they ended.",
        lambda b: script(
            b,
            f"echo job $SLURM_JOB_ID on $SLURM_JOB_NODELIST\n{STEP.format('-l -n4', '')}\n{STEP.format('-n2', '--shards 6')}\necho both steps ended with $?, no errors",
            "-N2",
            "-n4",
        ),
    ),
    slurm(
        "healthy-bad-folder-srun",
        "healthy",
        "A working directory that the nodes do not have",
        f"{PARALLEL} The nodes do not have the working directory and take /tmp instead, which does no harm.",
        lambda b: step(
            b,
            "-l",
            "-N2",
            "-n2",
            "--chdir=/home/trainer/run7",
            "/usr/bin/python3",
            f"{b.folder}/tokenize_shards.py",
            "--shards",
            "8",
        ),
    ),
    slurm(
        "healthy-busy-step-sbatch",
        "healthy",
        "A step waits until another one has ended",
        f"{PARALLEL} Two steps share two processors; the second is told to wait, and runs later.",
        lambda b: script(
            b,
            f"{STEP.format('-l --exact -n2', '--shards 30')} &\nsleep 0.5\n{STEP.format('-l --exact -n2', '--shards 6')}\nwait\necho all done",
            "-N1",
            "-n2",
        ),
    ),
    slurm(
        "healthy-retried-sbatch",
        "healthy",
        "A batch script tries a failing step again",
        f"{PARALLEL} The first attempt ends with an exception; the script tries again, and the second one comes to its end.",
        lambda b: script(
            b,
            f"srun -l -n2 /usr/bin/python3 tokenize_shards.py --vocabulary cache/vocabulary.json || (echo 'attempt 1 failed, building the cache and retrying'; mkdir -p cache; echo '{{}}' > cache/vocabulary.json)\n{STEP.format('-l -n2', '--vocabulary cache/vocabulary.json')}\necho attempt 2 succeeded",
            "-N1",
            "-n2",
        ),
        expected_wrong="a step that failed and was tried again counts as the failure: the shards after it are not known as progress",
    ),
    slurm(
        "healthy-verbose-srun",
        "healthy",
        "srun tells all that it does",
        f"{PARALLEL} srun -vv prints its settings and each message before the lines of the tasks.",
        lambda b: step(b, "-vv", "-l", "-N2", "-n2", *TOKENIZE, "--shards", "8"),
    ),
)

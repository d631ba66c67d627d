"""Slurm jobs that are limited, cancelled or lose a node, and tasks that fail; and such as end well."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from bench import Bench
from slurm import Cluster, needs
from slurm_steps import LONG, PARALLEL, STEP, TOKENIZE, fault, script, slurm, step


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

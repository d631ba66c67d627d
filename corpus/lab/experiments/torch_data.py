"""Data loading: broken records, workers that die, hang or lack shared memory, uneven inputs."""

from __future__ import annotations

import os
import signal
import time

from bench import Bench, Running
from experiment import Experiment
from launchers import TORCH, finetune, simply


def kill_loader(job: Running) -> None:
    """Kill a loader worker of rank 1, a child of its process, some seconds after it came up."""
    parent, ends = job.host.rank(1), time.monotonic() + 60
    while time.monotonic() < ends:
        time.sleep(3)
        for process in job.host.processes():
            with open(f"/proc/{process}/stat") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) == parent:
                    os.kill(process, signal.SIGKILL)
                    return


def small_shm(bench: Bench) -> None:
    """/dev/shm of one MiB, the default of old containers made smaller still."""
    bench.host().sh("mount -t tmpfs -o size=256k tmpfs /dev/shm")
    bench.run(*finetune(2, "--batch_size", "64", "--max_length", "4096", count=512))


EXPERIMENTS = (
    Experiment(
        case="broken-json-loader",
        label="app.exception",
        title="A line of the training data is cut off",
        story="""Two ranks fine-tune on a file of JSON lines with two loader workers each. One line is cut off in the middle; json raises in
        a worker of the rank that reads it, and the trainer re-raises it.""",
        run=simply(*finetune(2, after='f.write(\'{"text": "cut off in the\\n\')', count=95, before="")),
        needs=TORCH,
        also=("app.dataloader",),
        evidence=("JSONDecodeError",),
    ),
    Experiment(
        case="empty-text-loader-spawned",
        label="app.exception",
        title="An empty text reaches the tokenizer in a spawned loader worker",
        story="""Example 37 has an empty text. The encoder raises ValueError in a loader worker (start method spawn) of rank 1; rank 0 is
        ended by the agent. All lines are teed.""",
        run=simply(
            *finetune(
                2, "--start_method", "spawn", "--num_workers", "1", change='record["text"] *= i != 37', flags="--tee 3"
            ),
        ),
        needs=TORCH,
        culprit={"rank": 1},
        also=("app.dataloader",),
        evidence=("cannot encode an empty text", "Caught ValueError in DataLoader worker"),
    ),
    Experiment(
        case="missing-field-no-workers",
        label="app.exception",
        title="A record lacks its label",
        story="""Record 21 has no label. Without loader workers the KeyError is raised in the training loop of rank 1 itself, from
        __getitem__.""",
        run=simply(*finetune(2, "--num_workers", "0", change='record.pop("label") if i == 21 else 0')),
        needs=TORCH,
        culprit={"rank": 1},
        evidence=("KeyError: 'label'",),
    ),
    Experiment(
        case="label-out-of-range",
        label="app.exception",
        title="A label is larger than the number of classes",
        story="""Record 50 is labelled 9 in a task of four classes. cross_entropy on the CPU raises IndexError on rank 0.""",
        run=simply(
            *finetune(
                4,
                "--num_workers",
                "0",
                "--batch_size",
                "4",
                change='record["label"] = 9 if i == 48 else i % 4',
                flags="--tee 3",
            )
        ),
        needs=TORCH,
        culprit={"rank": 0},
        evidence=("Target 9 is out of bounds",),
    ),
    Experiment(
        case="ragged-lengths-collate",
        label="app.exception",
        title="Examples of different types cannot be put into one batch",
        story="""Labels of some records are lists: the default collate function cannot stack them and raises RuntimeError in a worker of
        every rank.""",
        run=simply(*finetune(2, change='record["label"] = [i % 4, 0] if i % 8 == 5 else i % 4')),
        needs=TORCH,
        also=("app.dataloader",),
        evidence=("stack expects each tensor to be equal size", "Caught RuntimeError in DataLoader worker"),
    ),
    Experiment(
        case="missing-attachment-loader",
        label="app.exception",
        title="A file that the data refers to does not exist",
        story="Record 10 refers to an attachment that is not there: FileNotFoundError in a loader worker of rank 0.",
        run=simply(*finetune(2, change='record["attachment"] = "/data/texts/00010.txt" if i == 10 else None')),
        needs=TORCH,
        culprit={"rank": 0},
        also=("app.dataloader", "host.filesystem"),
        evidence=("FileNotFoundError",),
    ),
    Experiment(
        case="killed-loader-worker",
        label="app.dataloader",
        title="A loader worker of rank 1 is killed",
        story="""Somebody (or something) kills a loader worker of rank 1 with SIGKILL. PyTorch notices it by SIGCHLD and raises 'DataLoader
        worker is killed by signal' on rank 1.""",
        run=simply(*finetune(2, "--pause", "1", count=400), on={r"rank1\] 400 examples": kill_loader}),
        needs=TORCH,
        culprit={"rank": 1},
        also=("host.oom-kill",),
        evidence=("is killed by signal", "exited unexpectedly"),
    ),
    Experiment(
        case="stuck-loader-timeout",
        label="app.dataloader",
        title="A loader worker waits for a file that never comes; the loader times out",
        story="""Record 32 is read from a named pipe that nobody writes to, as from a storage mount that hangs. The loader has a timeout of five
        seconds and raises on rank 0.""",
        run=simply(
            *finetune(
                2,
                "--worker_timeout",
                "5",
                change='record["attachment"] = "feed" if i == 32 else None',
                before="mkfifo feed\n",
            )
        ),
        needs=TORCH,
        culprit={"rank": 0},
        evidence=("DataLoader timed out after 5",),
    ),
    Experiment(
        case="stuck-loader-no-timeout",
        label="collective.straggler",
        title="Rank 1 waits for its loader for ever, rank 0 times out in the all-reduce",
        story="""Record 33 is read from a named pipe that nobody writes to. No timeout is set on the loader: rank 1 waits silently, rank 0 gives up in
        the all-reduce of the gradients after ten seconds. The log does not say why rank 1 did not come.""",
        run=simply(
            *finetune(
                2,
                "--ddp_timeout",
                "10",
                change='record["attachment"] = "feed" if i == 33 else None',
                before="mkfifo feed\n",
            )
        ),
        needs=TORCH,
        also=("collective.timeout",),
        evidence=("Timed out waiting",),
    ),
    Experiment(
        case="small-shm-loader",
        label="host.shm-bus-error",
        title="/dev/shm is too small for the batches of the loader workers",
        story="""The container has 256 KiB of /dev/shm; batches of 64 x 4096 tokens do not fit. The loader workers fail when they
        put a batch into shared memory.""",
        run=small_shm,
        needs=TORCH,
        evidence=("bus error", "Bus error", "No space left on device", "shared memory"),
    ),
    Experiment(
        case="uneven-inputs-no-join",
        label="collective.desync",
        title="One rank has a batch more than the other",
        story="""Each rank reads its own share: 5 batches on rank 0, 4 on rank 1. Rank 1 leaves the loop, goes on to the barrier, and rank 0 still
        reduces gradients; they never meet.""",
        run=simply(*finetune(2, "--uneven", "--num_workers", "0", "--ddp_timeout", "8", count=65)),
        needs=TORCH,
        also=("collective.timeout", "collective.straggler", "app.exception", "net.size-mismatch"),
        evidence=("Timed out waiting", "mismatch", "op.preamble.length"),
    ),
)

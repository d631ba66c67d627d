"""The host gives out: memory, limits, disk, permissions; and damaged checkpoints."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench import Bench
from experiment import Experiment, Needs
from launchers import TORCH, TORCH_ROOT, shell, simply, torchrun

MEMORY_GROUP = Path("/sys/fs/cgroup/memory")
GROUP = Needs(environment="torch-2.13", root=True, programs=("dmesg",), packages=("util-linux",))
SAVE = ("train.py", "--save-every", "2", "--out", "/mnt/checkpoints")


def small_disk(size: str, *job: str, log: str = "job.log"):
    """Run a job whose /mnt is a file system of that size."""

    def run(bench: Bench) -> None:
        bench.host().sh(f"mount -t tmpfs -o size={size} tmpfs /mnt")
        bench.run(*job, log=log)

    return run


def read_only(bench: Bench) -> None:
    """/mnt is mounted read-only, as after an error of the file system."""
    bench.host().sh("mount -t tmpfs tmpfs /mnt && mkdir /mnt/checkpoints && mount -o remount,ro /mnt")
    bench.run(*torchrun(2, *SAVE))


def broken_device(bench: Bench) -> None:
    """A file system on a file that is cut short afterwards: reads beyond the cut fail with an I/O error."""
    bench.host().sh(
        "head -c 16777216 /dev/zero > disk.img && mkfs.ext4 -q -F disk.img && mount -o loop disk.img /mnt && "
        "python3 -c \"open('/mnt/step_000004.pt','wb').write(bytes(range(256)) * 40000)\" && sync && "
        "echo 3 > /proc/sys/vm/drop_caches && truncate -s 4194304 disk.img"
    )
    try:
        bench.run(*torchrun(2, "train.py", "--resume", "/mnt/step_000004.pt"))
    finally:
        bench.host().sh("umount -l /mnt")


def out_of_memory(bench: Bench) -> None:
    """Put the ranks into a memory cgroup that is too small; the kernel's log is the second log."""
    group = MEMORY_GROUP / "trainer.slice"
    group.mkdir(exist_ok=True)
    (group / "memory.limit_in_bytes").write_text(str(900 << 20))
    script = (
        f"echo $$ > {group}/cgroup.procs; exec torchrun --nproc-per-node 2 train.py --hidden 4096 --layers 8 --steps 30"
    )
    bench.run(*shell(script))
    lines = subprocess.run(["dmesg", "-T"], capture_output=True, text=True, check=True).stdout.splitlines()
    last = max(i for i, line in enumerate(lines) if "invoked oom-killer" in line)
    (bench.logs / "kernel.log").write_text("\n".join(lines[last:]) + "\n")
    os.rmdir(group) if not (group / "cgroup.procs").read_text() else None


def checkpoint(change: str, *options: str, ranks: int = 2, flags: str = ""):
    """Train and save, change the checkpoint, resume; the log is that of the second job."""

    def run(bench: Bench) -> None:
        bench.run(*torchrun(2, "train.py", "--steps", "2", "--save-every", "2", "--pause", "0"), log="")
        bench.run(*shell(change), log="")
        bench.run(*torchrun(ranks, "train.py", "--resume", "checkpoints/step_000002.pt", *options, flags=flags))

    return run


def unprivileged(script: str) -> tuple[str, ...]:
    """Run as a user to whom limits and permissions apply."""
    return ("setpriv", "--reuid", "1234", "--regid", "1234", "--clear-groups", *shell(script))


EXPERIMENTS = (
    Experiment(
        case="oom-kill-cgroup-torchrun",
        label="host.oom-kill",
        title="The ranks outgrow the memory limit of their cgroup",
        story="""Two ranks build a model too large for their cgroup of 900 MiB. The kernel kills one of them; torchrun reports exit code -9, the
        kernel's log (second file) says why.""",
        run=out_of_memory,
        needs=GROUP,
        evidence=("Memory cgroup out of memory", "oom-kill", "SIGKILL"),
    ),
    Experiment(
        case="address-space-limit",
        label="host.limits",
        title="ulimit -v leaves too little address space",
        story="""The job script sets ulimit -v to 3 GB. Allocating the model's parameters fails with 'not enough memory' on both ranks.""",
        run=simply(*shell("ulimit -v 3000000; torchrun --nproc-per-node 2 train.py --hidden 6144 --layers 4")),
        needs=TORCH,
        also=("app.exception", "host.oom-kill"),
        evidence=("DefaultCPUAllocator", "MemoryError", "Cannot allocate memory", "failed to map segment"),
    ),
    Experiment(
        case="too-large-tensor",
        label="app.exception",
        title="A tensor of many terabytes is asked for",
        story="""The vocabulary is given with six zeros too many; the allocation of the embedding fails at once on both ranks.""",
        run=simply(*torchrun(2, "train.py", "--vocab", "512000000000")),
        needs=TORCH,
        also=("host.limits", "host.oom-kill", "app.config"),
        evidence=("DefaultCPUAllocator", "not enough memory", "can't allocate memory"),
    ),
    Experiment(
        case="open-files-limit-shards",
        label="host.limits",
        title="Too many shards are held open",
        story="""A preparation job keeps twenty handles on each of its shards open under ulimit -n 128. open() fails with 'Too many
        open files' on both ranks.""",
        run=simply(*shell("ulimit -n 128; torchrun --nproc-per-node 2 prepare.py --shards 8 --mmap")),
        needs=TORCH,
        evidence=("Too many open files",),
    ),
    Experiment(
        case="open-files-limit-loader",
        label="host.limits",
        title="Loader workers run out of file descriptors",
        story="""Fine-tuning with eight loader workers a rank under ulimit -n 40: pipes and shared memory of the workers need more file
        descriptors than that.""",
        run=simply(
            *shell(
                'for i in $(seq 400); do echo \'{"text": "line \'$i\'", "label": 1}\'; done > train.jsonl; ulimit -n 40; '
                "torchrun --nproc-per-node 2 finetune.py --train_file train.jsonl --num_workers 8"
            )
        ),
        needs=TORCH,
        evidence=("Too many open files",),
    ),
    Experiment(
        case="process-limit-torchrun",
        label="host.limits",
        title="The user may not have that many processes",
        story="""ulimit -u is 24 for the user of the job. The agent or a library of a rank cannot start another thread or process: 'Resource temporarily
        unavailable'.""",
        run=simply(
            *unprivileged(
                "ulimit -u 24; torchrun --nproc-per-node 2 prepare.py --processes 24 --folder /dev/shm/prepared"
            ),
            timeout=40,
        ),
        needs=TORCH_ROOT,
        evidence=("Resource temporarily unavailable", "can't start new thread"),
    ),
    Experiment(
        case="full-disk-checkpoint",
        label="host.disk-full",
        title="The disk is full when the checkpoint is written",
        story="""/mnt holds 1.5 MB; the first checkpoint does not fit. Rank 0 fails in torch.save
        with nothing but an iostream error; rank 1 waits in the barrier and is ended.""",
        run=small_disk("1500k", *torchrun(2, *SAVE)),
        needs=TORCH,
        culprit={"rank": 0},
        also=("checkpoint.write",),
        evidence=("No space left on device", "PytorchStreamWriter failed", "iostream error"),
    ),
    Experiment(
        case="full-disk-shards",
        label="host.disk-full",
        title="Shards are written until the disk is full",
        story="""Both ranks write text shards to a file system of 3 MB: OSError 28 on the rank that comes too late.""",
        run=small_disk(
            "3m",
            *torchrun(2, "prepare.py", "--folder", "/mnt/shards", "--shards", "6", "--words", "90000", flags="--tee 3"),
        ),
        needs=TORCH,
        evidence=("No space left on device",),
    ),
    Experiment(
        case="read-only-file-system",
        label="host.filesystem",
        title="The file system of the checkpoints has become read-only",
        story="/mnt is mounted read-only. Rank 0 cannot write its first checkpoint (OSError 30); rank 1 is ended by the agent.",
        run=read_only,
        needs=TORCH,
        culprit={"rank": 0},
        also=("checkpoint.write",),
        evidence=("Read-only file system",),
    ),
    Experiment(
        case="permission-denied-output",
        label="host.filesystem",
        title="The output folder belongs to somebody else",
        story="""The job runs as an ordinary user and may not create its folder below /var/lib. Rank 0 fails with PermissionError in its
        first checkpoint.""",
        run=simply(*unprivileged("torchrun --nproc-per-node 2 train.py --save-every 2 --out /var/lib/checkpoints")),
        needs=TORCH_ROOT,
        culprit={"rank": 0},
        also=("checkpoint.write",),
        evidence=("Permission denied",),
    ),
    Experiment(
        case="input-output-error-resume",
        label="host.filesystem",
        title="The disk under a checkpoint answers with I/O errors",
        story="""The checkpoint lies on a disk whose end has gone. Reading it fails with 'Input/output error' on the ranks that resume.""",
        run=broken_device,
        needs=TORCH_ROOT,
        also=("checkpoint.corrupt",),
        evidence=("Input/output error",),
    ),
    Experiment(
        case="truncated-checkpoint-resume",
        label="checkpoint.corrupt",
        title="The checkpoint was cut off",
        story="""The checkpoint lost its last third, as when a job is killed while it copies. torch.load finds no central directory on
        either rank.""",
        run=checkpoint("truncate -s 600000 checkpoints/step_000002.pt"),
        needs=TORCH,
        evidence=("failed finding central directory",),
    ),
    Experiment(
        case="empty-checkpoint-resume",
        label="checkpoint.corrupt",
        title="The checkpoint is empty",
        story="A full disk left a checkpoint of 0 bytes. Resuming from it raises EOFError on all four ranks; each line bears its rank.",
        run=checkpoint(": > checkpoints/step_000002.pt", ranks=4, flags="--tee 3"),
        needs=TORCH,
        evidence=("EOFError", "Ran out of input"),
    ),
    Experiment(
        case="overwritten-checkpoint-resume",
        label="checkpoint.corrupt",
        title="A block in the middle of the checkpoint was overwritten",
        story="""64 KiB at the end of the checkpoint, with the directory of the archive, hold zeros. torch.load fails on both ranks.""",
        run=checkpoint(
            "f=checkpoints/step_000002.pt; s=$(stat -c %s $f); dd if=/dev/zero of=$f bs=1 count=65536 seek=$((s-65536)) conv=notrunc"
        ),
        needs=TORCH,
        evidence=("failed finding central directory", "invalid", "UnpicklingError"),
    ),
    Experiment(
        case="text-in-place-of-checkpoint",
        label="checkpoint.corrupt",
        title="The checkpoint is a pointer of a large-file store",
        story="""The repository with the checkpoint was cloned without its large files: the file holds three lines of text in place of
        weights. torch.load raises UnpicklingError on both ranks.""",
        run=checkpoint(
            "printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:4d7a214614ab\\nsize 1048576\\n' > checkpoints/step_000002.pt"
        ),
        needs=TORCH,
        also=("checkpoint.incompatible",),
        evidence=("UnpicklingError", "invalid load key"),
    ),
    Experiment(
        case="wider-model-resume",
        label="checkpoint.incompatible",
        title="The model is wider than its checkpoint",
        story="A checkpoint of hidden size 64 is loaded into a model of 128: load_state_dict lists the size mismatches on both ranks.",
        run=checkpoint(":", "--hidden", "128"),
        needs=TORCH,
        evidence=("size mismatch for", "Error(s) in loading state_dict"),
    ),
    Experiment(
        case="deeper-model-resume-tee",
        label="checkpoint.incompatible",
        title="The model has more layers than its checkpoint",
        story="""A checkpoint of two layers is loaded into a model of four: load_state_dict lists the missing keys. The lines are teed with the
        rank.""",
        run=checkpoint(":", "--layers", "4", flags="--tee 3"),
        needs=TORCH,
        evidence=("Missing key(s) in state_dict", "Error(s) in loading state_dict"),
    ),
    Experiment(
        case="optimizer-groups-resume",
        label="checkpoint.incompatible",
        title="The optimiser state belongs to another model",
        story="""The model part of the checkpoint fits; its optimiser was saved with fewer parameters. load_state_dict of the optimiser raises
        ValueError on both ranks.""",
        run=checkpoint(
            "python -c \"import torch; p='checkpoints/step_000002.pt'; s=torch.load(p); "
            "s['optimizer']['param_groups'][0]['params'].pop(); torch.save(s, p)\""
        ),
        needs=TORCH,
        also=("app.exception",),
        evidence=("loaded state dict contains a parameter group", "doesn't match the size"),
    ),
    Experiment(
        case="other-layout-resume",
        label="checkpoint.incompatible",
        title="The checkpoint has another layout",
        story="The checkpoint holds its weights under 'state_dict' where the trainer looks for 'model': KeyError on both ranks.",
        run=checkpoint(
            "python -c \"import torch; p='checkpoints/step_000002.pt'; s=torch.load(p); s['state_dict']=s.pop('model'); torch.save(s, p)\""
        ),
        needs=TORCH,
        also=("app.exception",),
        evidence=("KeyError: 'model'",),
    ),
    Experiment(
        case="pickled-class-weights-only",
        label="checkpoint.incompatible",
        title="The checkpoint holds an object that weights_only loading refuses",
        story="""An older trainer saved a pathlib path beside the weights. torch.load with its default weights_only=True refuses it on
        both ranks.""",
        run=checkpoint(
            "python -c \"import torch, argparse; p='checkpoints/step_000002.pt'; s=torch.load(p); "
            "s['args']=argparse.Namespace(lr=1); torch.save(s, p)\""
        ),
        needs=TORCH,
        also=("app.exception",),
        evidence=("Weights only load failed",),
    ),
    Experiment(
        case="missing-checkpoint-resume",
        label="checkpoint.missing",
        title="The checkpoint to resume from is not there",
        story="The job is told to resume from a checkpoint that was never written: FileNotFoundError on both ranks.",
        run=simply(*torchrun(2, "train.py", "--resume", "checkpoints/step_009000.pt")),
        needs=TORCH,
        evidence=("FileNotFoundError",),
    ),
    Experiment(
        case="missing-checkpoint-resume-8",
        label="checkpoint.missing",
        title="Four ranks resume from a checkpoint on a mount that is not there",
        story="""The shared file system is not mounted on this node, so that /lustre/run7/last.pt does not exist. Four ranks say so, with
        rank prefixes.""",
        run=simply(*torchrun(4, "train.py", "--resume", "/lustre/run7/last.pt", flags="--tee 3")),
        needs=TORCH,
        also=("host.filesystem",),
        evidence=("FileNotFoundError",),
    ),
    Experiment(
        case="nan-loss-learning-rate",
        label="app.nan-loss",
        title="A learning rate without its exponent makes the loss NaN",
        story="The learning rate is 1e25 in place of 1e-5. After a step or two the loss is no number any more and the trainer stops on every rank.",
        run=simply(*torchrun(2, "train.py", "--lr", "1e25")),
        needs=TORCH,
        also=("app.exception",),
        evidence=("loss is nan", "loss is inf"),
    ),
    Experiment(
        case="nan-loss-grad-scaler",
        label="app.nan-loss",
        title="The loss becomes NaN under a gradient scaler",
        story="The same with a gradient scaler on and four ranks, each line with its rank: steps are skipped, then the trainer's check raises.",
        run=simply(*torchrun(4, "train.py", "--lr", "1e30", "--amp", flags="--tee 3")),
        needs=TORCH,
        also=("app.exception",),
        evidence=("loss is nan", "loss is inf"),
    ),
    Experiment(
        case="download-without-network",
        label="app.download",
        title="The data set is downloaded on a node without a network",
        story="""Rank 0 fetches the raw text by urllib; the node resolves no outside names. URLError on rank 0, rank 1 waits in a barrier and
        is ended.""",
        run=simply(*torchrun(2, "prepare.py", "--url", "https://data.example.org/wiki/raw.txt")),
        needs=TORCH,
        culprit={"rank": 0},
        also=("net.dns",),
        evidence=("urlopen error",),
    ),
    Experiment(
        case="download-not-found",
        label="app.download",
        title="The data server answers 404",
        story="Rank 0 fetches the raw text from a mirror on the local network that does not have it: HTTPError 404.",
        run=simply(
            *shell(
                "python -m http.server 8000 >/dev/null 2>&1 & sleep 2; torchrun --nproc-per-node 2 --tee 3 prepare.py --url http://gpu-a01:8000/raw.txt"
            ),
        ),
        needs=TORCH,
        culprit={"rank": 0},
        evidence=("HTTP Error 404",),
    ),
)

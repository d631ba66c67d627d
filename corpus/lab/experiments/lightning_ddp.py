"""Lightning trains over gloo on CPU, and something goes wrong."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial

from bench import Bench
from experiment import Experiment, Needs

LIGHTNING = Needs(environment="lightning")
PLAIN = ("python", "lightning_images.py")
TORCHRUN = ("torchrun", "--nproc-per-node")
failure = partial(Experiment, seconds=240, needs=LIGHTNING)


def job(*arguments: str, ranks: int = 0, **options: object) -> Callable[[Bench], None]:
    """A run of the program: started by Lightning itself, or by torchrun where ``ranks`` are given."""
    command = (*TORCHRUN, str(ranks), "lightning_images.py", "--devices", str(ranks)) if ranks else PLAIN
    return lambda bench: bench.run(*command, *arguments, **options) and None


def first_then(
    *second: str, between: str = "true", first: tuple[str, ...] = ("--epochs", "1", "--images", "512")
) -> Callable[[Bench], None]:
    """An earlier run that leaves checkpoints, something that happens to them, and the run that is looked at."""

    def both(bench: Bench) -> None:
        bench.run(*PLAIN, *first, log="")
        bench.host().sh(f"cd {bench.folder} && {between}")
        bench.run(*PLAIN, *second)

    return both


def prepared(script: str, *arguments: str, **options: object) -> Callable[[Bench], None]:
    """A run on a host that a shell script has prepared."""

    def run(bench: Bench) -> None:
        bench.host().sh(f"cd {bench.folder} && {script}")
        bench.run(*PLAIN, *arguments, **options)

    return run


def port_taken(bench: Bench) -> None:
    """Another program listens on the port of the rendezvous."""
    server = bench.host().start("python", "-m", "http.server", "29500", log="")
    bench.run("sh", "-c", "sleep 1", log="")
    bench.run(*PLAIN, env={"MASTER_ADDR": "gpu-a01", "MASTER_PORT": "29500"})
    server.signal(signal.SIGTERM)


def alone(bench: Bench) -> None:
    """The first of two nodes; nobody starts the second."""
    env = {"MASTER_ADDR": "gpu-a01", "MASTER_PORT": "29511", "NODE_RANK": "0"}
    bench.run(*PLAIN, "--nodes", "2", "--timeout", "8", env=env, timeout=60)


EXPERIMENTS = (
    failure(
        case="killed-rank-lightning",
        label="collective.rank-died",
        also=("net.peer-closed", "unknown"),
        title="Rank 1 of a Lightning job is killed",
        story="""Lightning started the second rank itself. Somebody kills it with SIGKILL after the tenth step. Rank 0 loses its connection and
        ends before Lightning's watcher has seen the child's exit code: nothing says why the peer went away.""",
        run=job("--images", "4096", on={"rank 0. epoch 0 step 10 ": lambda run: run.host.kill(1)}),
        evidence=("code -9", "closed by peer", "Connection reset"),
    ),
    failure(
        case="killed-rank-lightning-torchrun-4",
        label="collective.rank-died",
        also=("unknown", "host.oom-kill"),
        title="Rank 2 of four Lightning ranks under torchrun is killed",
        story="""Four ranks of Lightning under torchrun; rank 2 is killed with SIGKILL. The other ranks lose their connections and the elastic
        agent reports exit code -9.""",
        run=job("--images", "4096", ranks=4, on={"rank 0. epoch 0 step 10 ": lambda run: run.host.kill(2)}),
        culprit={"rank": 2},
        evidence=("Signal 9 (SIGKILL)", "exitcode: -9", "exitcode  : -9", "(SIGKILL)"),
    ),
    failure(
        case="damaged-sample-lightning",
        label="app.exception",
        title="A damaged image ends one rank of two",
        story="""Image 301 of the shard is cut short. Rank 1 reads it and cannot give it a shape; rank 0 then waits in the
        gradients' all-reduce until its connection is closed.""",
        run=job("--damaged", "301"),
        culprit={"rank": 1},
        evidence=("RuntimeError: shape", "ValueError", "invalid for input"),
    ),
    failure(
        case="damaged-sample-lightning-torchrun-4",
        label="app.exception",
        title="A damaged image ends one rank of four under torchrun",
        story="""Image 514 of the shard is cut short; the shuffled sampler gives it to rank 0. torchrun shows the tracebacks of all ranks and sums
        up the first failure.""",
        run=job("--damaged", "514", ranks=4),
        culprit={"rank": 0},
        evidence=("RuntimeError: shape", "ValueError", "invalid for input"),
    ),
    failure(
        case="damaged-sample-worker-lightning",
        label="app.dataloader",
        also=("app.exception",),
        title="A data-loading worker of rank 0 meets a damaged image",
        story="""Two workers load for each rank. Image 400 is cut short, so a worker of rank 0 raises, and its traceback is handed on to the
        rank, which ends.""",
        run=job("--damaged", "400", "--workers", "2"),
        culprit={"rank": 0},
        evidence=("in DataLoader worker process", "is invalid for input"),
    ),
    failure(
        case="loader-timeout-lightning",
        label="app.dataloader",
        title="The workers read so slowly that the loader gives up",
        story="""Each image takes a second to read, as from a cold object store; the loader has a time-out of three seconds for a batch. Both
        ranks give up before the first step.""",
        run=job("--read-seconds", "1", "--workers", "1", "--loader-timeout", "3", timeout=40),
        evidence=("timed out after 3",),
    ),
    failure(
        case="unused-head-lightning",
        label="collective.unused-params",
        title="A second head takes no part in the loss",
        story="""The model has a head for distillation whose weight in the loss is 0. DDP waits for its gradients; Lightning rewrites DDP's message
        in the second step.""",
        run=job("--distill", "--distill-weight", "0"),
        evidence=("parameters that were not used in producing the loss",),
    ),
    failure(
        case="segfault-debug-detail-lightning-torchrun-4",
        label="app.segfault",
        title="All ranks die of SIGSEGV in torch's own debug mode",
        story="""A head for distillation takes no part in the loss, and TORCH_DISTRIBUTED_DEBUG=DETAIL is to name its parameters. Instead, all four
        ranks of torch 2.13 die of SIGSEGV before the first step, without a word.""",
        run=job("--distill", "--distill-weight", "0", ranks=4, env={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}),
        evidence=("SIGSEGV",),
    ),
    failure(
        case="resume-missing-lightning",
        label="checkpoint.missing",
        title="The checkpoint to resume from does not exist",
        story="The job is told to resume from a checkpoint whose name has a typing error; every rank says that there is no such file.",
        run=first_then("--resume", "checkpoints/lats.ckpt"),
        evidence=("Checkpoint file not found", "Checkpoint at"),
    ),
    failure(
        case="resume-mismatch-lightning",
        label="checkpoint.incompatible",
        title="The checkpoint belongs to a wider model",
        story="An earlier run trained with 64 hidden units; the job resumes from its checkpoint with 128. Loading the weights fails on all ranks.",
        run=first_then("--resume", "checkpoints/last.ckpt", "--hidden", "128"),
        evidence=("size mismatch for body", "Error(s) in loading state_dict"),
    ),
    failure(
        case="resume-other-head-lightning",
        label="checkpoint.incompatible",
        title="The checkpoint lacks the head of the model",
        story="The checkpoint was written without the distillation head that the job now has: keys lack in it.",
        run=first_then("--resume", "checkpoints/last.ckpt", "--distill"),
        evidence=("Missing key(s)", "Error(s) in loading state_dict"),
    ),
    failure(
        case="resume-truncated-lightning",
        label="checkpoint.corrupt",
        title="The checkpoint was cut short",
        story="The last run was ended while it wrote its checkpoint, so that half of the file lacks. The job cannot read it on any rank.",
        run=first_then("--resume", "checkpoints/last.ckpt", between="truncate -s 300000 checkpoints/last.ckpt"),
        evidence=("PytorchStreamReader", "central directory"),
    ),
    failure(
        case="replay-straggler-lightning",
        label="collective.straggler",
        also=("collective.timeout",),
        title="Rank 3 skips its data twenty times more slowly than the others",
        story="""After a resume each rank skips what it has already seen. Three ranks are done after a second and wait in a barrier; rank 3 needs
        twenty. The others run into the time-out of eight seconds.""",
        run=job("--replay", "4000", "--slow-rank", "3", "--timeout", "8", ranks=4),
        culprit={"rank": 3},
        evidence=("skipped", "skipping", "Timed out waiting 8000ms"),
    ),
    failure(
        case="no-gpu-lightning",
        label="cuda.driver",
        also=("app.config", "job.resources"),
        title="A GPU is asked for where there is none",
        story="The trainer is told to use the GPU accelerator on a host without a GPU. Lightning refuses before anything starts.",
        run=job("--accelerator", "gpu"),
        evidence=("MisconfigurationException",),
    ),
    failure(
        case="bad-strategy-lightning",
        label="app.config",
        title="A strategy that this version does not know",
        story="The configuration names ddp_sharded, which Lightning 2 no longer has.",
        run=job("--strategy", "ddp_sharded"),
        evidence=("ddp_sharded",),
    ),
    failure(
        case="bad-precision-lightning",
        label="app.config",
        title="A precision that does not exist",
        story="The configuration asks for fp8-mixed; Lightning lists the precisions it has.",
        run=job("--precision", "fp8-mixed"),
        evidence=("Precision",),
    ),
    failure(
        case="bad-monitor-lightning",
        label="app.config",
        title="The best checkpoint is judged by a metric that nobody logs",
        story="ModelCheckpoint is told to watch val_accuracy. The first epoch is trained in full; then the callback finds no such metric.",
        run=job("--monitor", "val_accuracy", "--images", "512"),
        evidence=("val_accuracy",),
    ),
    failure(
        case="devices-not-ranks-lightning",
        label="app.config",
        title="The trainer's devices are not the launcher's processes",
        story="torchrun starts two processes, the configuration says four devices. Lightning compares the two and refuses.",
        run=lambda bench: bench.run(*TORCHRUN, "2", "lightning_images.py", "--devices", "4") and None,
        evidence=("devices",),
    ),
    failure(
        case="label-out-of-range-lightning",
        label="app.exception",
        title="The data have twelve classes, the model ten",
        story="Labels 10 and 11 have no output. Both ranks fail in the loss of their first batch.",
        run=job("--classes", "12"),
        evidence=("Target 1", "out of bounds"),
    ),
    failure(
        case="tensorboard-missing-lightning",
        label="app.import",
        title="The logger's package is not installed",
        story="The configuration asks for TensorBoard, and the image has neither tensorboard nor tensorboardX.",
        run=job("--logger", "tensorboard"),
        evidence=("ModuleNotFoundError",),
    ),
    failure(
        case="nan-loss-lightning-early-stopping",
        label="app.nan-loss",
        title="The loss becomes NaN and early stopping ends the training",
        story="The learning rate is a trillion times too large. The validation loss is NaN after the first epoch, and EarlyStopping ends the job.",
        run=job("--lr", "1e12", "--patience", "3", "--images", "512", "--epochs", "5"),
        evidence=("not finite",),
    ),
    failure(
        case="nan-loss-lightning-anomaly",
        label="app.nan-loss",
        title="Anomaly detection finds the backward that made NaN",
        story="As before, but with detect_anomaly: autograd raises on both ranks and shows the forward call that made the NaN.",
        run=job("--lr", "1e30", "--detect-anomaly"),
        evidence=("returned nan values",),
    ),
    failure(
        case="port-in-use-lightning",
        label="rdzv.port-in-use",
        title="The rendezvous port belongs to another program",
        story="A web server of somebody else listens on port 29500 of the first host. Rank 0 cannot open its store there.",
        run=port_taken,
        evidence=("EADDRINUSE", "address already in use"),
    ),
    failure(
        case="lonely-node-lightning",
        label="rdzv.timeout",
        title="The second node never came",
        story="The job is to run on two nodes with two ranks each. Nobody starts the second, and the first gives up after eight seconds.",
        run=alone,
        evidence=("Timed out", "timed out", "imeout"),
    ),
    failure(
        case="sigterm-lightning",
        label="job.preempted",
        title="A Lightning job gets SIGTERM",
        story="The scheduler takes the host back and sends SIGTERM to the job's first process in the middle of an epoch.",
        run=job("--images", "16384", on={"rank 0. epoch 0 step 20 ": lambda run: run.signal(signal.SIGTERM)}),
        evidence=("SIGTERM",),
    ),
    failure(
        case="ctrl-c-lightning",
        label="job.preempted",
        title="Somebody presses Ctrl-C",
        story="A user interrupts the first process in the middle of an epoch. Lightning shuts down by itself.",
        run=job("--images", "16384", on={"rank 0. epoch 0 step 20 ": lambda run: run.signal(signal.SIGINT)}),
        evidence=("KeyboardInterrupt",),
    ),
    failure(
        case="disk-full-checkpoint-lightning",
        label="host.disk-full",
        title="The disk is full when rank 0 saves",
        story="Checkpoints go to a file system of 256 KiB. Rank 0 fails while it saves after the first epoch; rank 1 waits for it in vain.",
        run=prepared("mkdir checkpoints && mount -t tmpfs -o size=256k tmpfs checkpoints", "--images", "512"),
        needs=Needs(environment="lightning", root=True),
        culprit={"rank": 0},
        evidence=("No space left on device", "unexpected pos", "PytorchStreamWriter"),
    ),
    failure(
        case="read-only-checkpoint-lightning",
        label="host.filesystem",
        also=("checkpoint.write",),
        title="The checkpoint folder is read-only",
        story="The file system of the checkpoints was mounted read-only after an error. Rank 0 cannot write there after the first epoch.",
        run=prepared("mkdir checkpoints && mount -t tmpfs -o ro tmpfs checkpoints", "--images", "512"),
        needs=Needs(environment="lightning", root=True),
        culprit={"rank": 0},
        evidence=("Read-only file system",),
    ),
    failure(
        case="small-shm-lightning",
        label="host.shm-bus-error",
        title="/dev/shm is too small for the loader's workers",
        story="The container has 64 KiB of shared memory, and the workers hand over their batches there.",
        run=prepared("mount -t tmpfs -o size=64k tmpfs /dev/shm", "--workers", "2"),
        needs=Needs(environment="lightning", root=True),
        evidence=("shared memory", "No space left on device", "shm", "Bus error"),
    ),
    failure(
        case="open-files-lightning",
        label="host.limits",
        title="The limit of open files is too low for the loader's workers",
        story="The shell allows 48 open files. The loader's workers need pipes, semaphores and shared memory of their own, more than that.",
        run=lambda bench: bench.run("sh", "-c", "ulimit -n 48; exec python lightning_images.py --workers 8") and None,
        evidence=("Too many open files",),
    ),
    failure(
        case="damaged-sample-lightning-spawn",
        label="app.exception",
        title="A damaged image ends one of two spawned ranks",
        story="Lightning spawns its ranks by multiprocessing. Image 101 belongs to rank 1; its traceback reaches the parent as ProcessRaisedException.",
        run=job("--damaged", "101", "--strategy", "ddp_spawn", timeout=150),
        culprit={"rank": 1},
        evidence=("RuntimeError: shape", "ValueError", "invalid for input"),
    ),
    failure(
        case="killed-rank-lightning-spawn",
        label="collective.rank-died",
        also=("unknown", "host.oom-kill"),
        title="A spawned rank is killed",
        story="Lightning spawns four ranks by multiprocessing; the youngest process is killed with SIGKILL after the tenth step.",
        run=job(
            "--images",
            "8192",
            "--strategy",
            "ddp_spawn",
            "--devices",
            "4",
            timeout=150,
            on={"rank 0. epoch 0 step 10 ": lambda run: run.host.signal(run.host.processes()[-1], signal.SIGKILL)},
        ),
        culprit={"rank": 3},
        evidence=("terminated with signal SIGKILL", "closed by peer"),
    ),
)

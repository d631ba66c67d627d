"""Lightning trains over gloo on CPU, and all goes well, whatever it may look like."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bench import Bench
from experiment import Experiment, Needs

healthy = partial(Experiment, seconds=240, needs=Needs(environment="lightning"), label="healthy")
PROGRAM = "lightning_images.py"


def job(*arguments: str, ranks: int = 0, **options: object) -> Callable[[Bench], None]:
    """A run of the program: started by Lightning itself, or by torchrun where ``ranks`` are given."""
    torchrun = ("torchrun", "--nproc-per-node", str(ranks), PROGRAM, "--devices", str(ranks))
    command = torchrun if ranks else ("python", PROGRAM)
    return lambda bench: bench.run(*command, *arguments, **options) and None


def resumed(bench: Bench) -> None:
    """An earlier run of one epoch, and the one that goes on from its checkpoint."""
    job("--images", "512", "--epochs", "1", log="")(bench)
    job("--images", "512", "--epochs", "3", "--resume", "checkpoints/last.ckpt")(bench)


EXPERIMENTS = (
    healthy(
        case="images-lightning",
        title="Two ranks train for two epochs",
        story="Lightning starts the second rank itself; two epochs with validation and checkpoints, with its usual hints and warnings.",
        run=job(),
    ),
    healthy(
        case="images-lightning-bar-bf16",
        title="Training in bf16 with progress bars",
        story="bf16-mixed, accumulation of two batches and clipping, with Lightning's progress bar written into the log.",
        run=job("--bar", "--precision", "bf16-mixed", "--accumulate", "2", "--clip", "0.5", "--images", "1024"),
    ),
    healthy(
        case="images-lightning-torchrun-4",
        title="Four ranks under torchrun",
        story="Four ranks under torchrun with c10d's info lines; the distillation head is used, so all parameters have gradients.",
        run=job(
            "--distill",
            "--images",
            "1024",
            ranks=4,
            env={"TORCH_CPP_LOG_LEVEL": "INFO", "TORCH_DISTRIBUTED_DEBUG": "INFO"},
        ),
    ),
    healthy(
        case="early-stopping-lightning",
        title="Early stopping ends the training",
        story="The validation loss does not improve by more than 1.0, so EarlyStopping ends the training after two epochs, as it is told to.",
        run=job("--patience", "1", "--min-delta", "1.0", "--epochs", "10", "--images", "512"),
    ),
    healthy(
        case="resume-lightning",
        title="A run that resumes",
        story="An earlier run left a checkpoint after one epoch; this one loads it and trains two more.",
        run=resumed,
    ),
    healthy(
        case="replay-lightning",
        title="A run that skips the data it has seen",
        story="All ranks skip 4000 batches in about a second, meet in a barrier and train on; the slow one takes a few seconds more, within the limit.",
        run=job(
            "--replay", "4000", "--replay-seconds", "0.2", "--slow-rank", "1", "--timeout", "60", "--images", "512"
        ),
    ),
    healthy(
        case="workers-lightning",
        title="Loader workers that are told off as too few",
        story="One loader worker for each rank; Lightning and torch print advice about their number, and training runs to its end.",
        run=job("--workers", "1", "--images", "512", "--epochs", "1"),
    ),
)

"""The Trainer of transformers fine-tunes a small GPT over gloo on CPU."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial

from bench import Bench
from experiment import Experiment, Needs

HUGGINGFACE = Needs(environment="huggingface")
PROGRAM = "finetune_gpt.py"
failure = partial(Experiment, seconds=240, needs=HUGGINGFACE)
healthy = partial(Experiment, seconds=240, needs=HUGGINGFACE, label="healthy")


def torchrun(*arguments: str, ranks: int = 2, **options: object) -> Callable[[Bench], None]:
    """The program under torchrun."""
    return lambda bench: bench.run("torchrun", "--nproc-per-node", str(ranks), PROGRAM, *arguments, **options) and None


def alone(*arguments: str, **options: object) -> Callable[[Bench], None]:
    """The program without a launcher."""
    return lambda bench: bench.run("python", PROGRAM, *arguments, **options) and None


def resumed(*second: str, between: str = "true") -> Callable[[Bench], None]:
    """An earlier run that leaves checkpoints, what happens to them, and the run that resumes."""

    def both(bench: Bench) -> None:
        bench.run("python", PROGRAM, "--steps", "10", log="", timeout=150)
        bench.host().sh(f"cd {bench.folder} && {between}")
        bench.run("python", PROGRAM, "--resume", "output/checkpoint-10", *second, timeout=150)

    return both


def prepared(script: str, then: Callable[[Bench], None]) -> Callable[[Bench], None]:
    """A run in a folder that a shell script has prepared."""

    def run(bench: Bench) -> None:
        bench.host().sh(f"cd {bench.folder} && {script}")
        then(bench)

    return run


EXPERIMENTS = (
    failure(
        case="killed-rank-trainer",
        label="collective.rank-died",
        also=("host.oom-kill", "unknown"),
        title="Rank 1 of a Trainer job is killed",
        story="Two ranks fine-tune under torchrun; rank 1 is killed with SIGKILL while rank 0 saves step 10. The agent sees exit code -9.",
        run=torchrun("--steps", "400", on={"Model weights saved": lambda job: job.host.kill(1)}),
        culprit={"rank": 1},
        evidence=("Signal 9 (SIGKILL)", "exitcode: -9", "exitcode  : -9", "(SIGKILL)"),
    ),
    failure(
        case="model-offline-trainer",
        label="app.download",
        also=("net.dns",),
        title="The model cannot be downloaded: the node has no way out",
        story="The job names a model of the hub that is not in the cache; compute nodes have no Internet, so the name of the hub does not resolve.",
        run=torchrun("--model", "openai-community/gpt2", timeout=80),
        evidence=("We couldn't connect", "Cannot find", "Failed to resolve", "offline", "Can't load"),
        seconds=240,
    ),
    failure(
        case="model-offline-mode-trainer",
        label="app.download",
        title="Offline mode, and the model is not in the cache",
        story="HF_HUB_OFFLINE=1 is set for all jobs of the cluster, and nobody put this model into the cache.",
        run=alone("--model", "openai-community/gpt2", env={"HF_HUB_OFFLINE": "1"}),
        evidence=("offline", "couldn't connect"),
    ),
    failure(
        case="dataset-offline-trainer",
        label="app.download",
        also=("net.dns",),
        title="The data set cannot be downloaded",
        story="The data set is not in the cache, and the node has no Internet. Both ranks fail before the model is made.",
        run=torchrun("--dataset", "stas/openwebtext-10k", timeout=80),
        evidence=("Couldn't reach", "Failed to resolve", "offline"),
        seconds=240,
    ),
    failure(
        case="model-folder-missing-trainer",
        label="checkpoint.missing",
        also=("app.config",),
        title="The folder of the model is empty",
        story="The job starts from a local folder that is there but holds no config.json: the copy from the archive never ran.",
        run=prepared("mkdir base-model", alone("--model", "./base-model")),
        evidence=("config.json", "base-model"),
    ),
    failure(
        case="resume-missing-trainer",
        label="checkpoint.missing",
        title="The checkpoint to resume from is not there",
        story="The job is to resume from step 500, but the earlier run never came so far.",
        run=torchrun("--resume", "output/checkpoint-500"),
        evidence=("checkpoint-500",),
    ),
    failure(
        case="resume-mismatch-trainer",
        label="checkpoint.incompatible",
        title="The checkpoint belongs to a narrower model",
        story="An earlier run trained with width 32; the job resumes from its checkpoint with width 64.",
        run=resumed("--width", "64"),
        evidence=("size mismatch", "Error(s) in loading state_dict"),
    ),
    failure(
        case="resume-truncated-trainer",
        label="checkpoint.corrupt",
        title="The weights of the checkpoint were cut short",
        story="The last run ended while it wrote its weights: model.safetensors is shorter than its header says.",
        run=resumed(between="truncate -s 50000 output/checkpoint-10/model.safetensors"),
        evidence=("SafetensorError", "InvalidHeader", "MetadataIncomplete", "incomplete metadata"),
    ),
    failure(
        case="resume-empty-optimizer-trainer",
        label="checkpoint.corrupt",
        title="The optimizer's state is an empty file",
        story="The disk was full when the last run saved: optimizer.pt is there, but empty.",
        run=resumed(between="truncate -s 0 output/checkpoint-10/optimizer.pt"),
        evidence=("EOFError", "Ran out of input", "central directory"),
    ),
    failure(
        case="token-out-of-range-trainer",
        label="app.exception",
        title="Tokens that the vocabulary does not hold",
        story="The vocabulary was cut to 200 tokens and the text still holds 256. The embedding fails in the first batch of both ranks.",
        run=torchrun("--vocabulary", "200"),
        evidence=("IndexError", "index out of range"),
    ),
    failure(
        case="long-text-trainer",
        label="app.exception",
        title="The text is longer than the model's positions",
        story="Blocks of 96 tokens meet a model with 64 positions.",
        run=alone("--block", "96"),
        evidence=("IndexError", "RuntimeError", "index out of range"),
    ),
    failure(
        case="save-not-eval-trainer",
        label="app.config",
        title="The best model is wanted, but saving and evaluation do not meet",
        story="load_best_model_at_end asks that saves fall on evaluations; saves come every 15 steps, evaluations every 10.",
        run=torchrun("--patience", "3", "--save-steps", "15"),
        evidence=("load_best_model_at_end", "--load_best_model_at_end"),
    ),
    failure(
        case="best-metric-missing-trainer",
        label="app.config",
        also=("app.exception",),
        title="The best model is judged by a metric that evaluation does not give",
        story="metric_for_best_model is eval_f1. The first evaluation gives only a loss; the Trainer raises KeyError.",
        run=torchrun("--patience", "3", "--best", "eval_f1"),
        evidence=("eval_f1",),
    ),
    failure(
        case="deepspeed-missing-trainer",
        label="app.import",
        title="DeepSpeed is asked for and not installed",
        story="The configuration names a DeepSpeed configuration; the environment has no deepspeed.",
        run=torchrun("--deepspeed", "zero2.json"),
        evidence=("DeepSpeed", "deepspeed"),
    ),
    failure(
        case="wandb-missing-trainer",
        label="app.import",
        title="The tracker's package is not installed",
        story="report_to names wandb, which the image does not hold.",
        run=alone("--report", "wandb"),
        evidence=("wandb",),
    ),
    failure(
        case="disk-full-trainer",
        label="host.disk-full",
        also=("checkpoint.write",),
        title="The disk is full when rank 0 saves",
        story="""The output folder is a file system of 300 KiB. The optimizer's state does not fit; rank 0 fails, rank 1 waits for it. torch's writer
        does not say why: only that it could not write on.""",
        run=prepared("mkdir output && mount -t tmpfs -o size=300k tmpfs output", torchrun(timeout=150)),
        needs=Needs(environment="huggingface", root=True),
        culprit={"rank": 0},
        evidence=("No space left on device", "PytorchStreamWriter", "unexpected pos", "iostream error"),
    ),
    failure(
        case="sigterm-trainer",
        label="job.preempted",
        title="torchrun gets SIGTERM",
        story="The node is taken back: torchrun gets SIGTERM, hands it on to both ranks and ends.",
        run=torchrun("--steps", "2000", on={"Model weights saved": lambda job: job.signal(signal.SIGTERM)}),
        evidence=("SIGTERM", "signal: 15", "death signal"),
    ),
    healthy(
        case="finetune-trainer",
        title="Two ranks fine-tune, evaluate and save",
        story="Thirty steps with three evaluations and three checkpoints, under torchrun; warnings of DDP and of the loss type are printed.",
        run=torchrun("--steps", "30"),
    ),
    healthy(
        case="fp16-on-cpu-trainer",
        title="fp16 on a host without a GPU",
        story="The configuration asks for fp16 on two ranks without a GPU; this version of torch can do that, and the run ends well.",
        run=torchrun("--fp16"),
    ),
    healthy(
        case="resume-trainer",
        title="A run that resumes",
        story="An earlier run left a checkpoint at step 10; this one goes on to step 30.",
        run=resumed("--steps", "30"),
    ),
    healthy(
        case="early-stopping-trainer-4",
        title="Four ranks stop early",
        story="The learning rate is so small that the loss does not fall; the Trainer stops after the third evaluation without progress, as it is told to.",
        run=torchrun("--patience", "2", "--lr", "1e-12", "--steps", "200", "--bf16", ranks=4),
        seconds=240,
    ),
)

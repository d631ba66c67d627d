"""accelerate launches ranks on CPU, and something goes wrong."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial

from bench import Bench
from experiment import Experiment, Needs

ACCELERATE = Needs(environment="huggingface")
PROGRAM = "accelerate_regression.py"
failure = partial(Experiment, seconds=240, needs=ACCELERATE)
healthy = partial(Experiment, seconds=240, needs=ACCELERATE, label="healthy")


def launch(*arguments: str, ranks: int = 2, options: tuple[str, ...] = (), **how: object) -> Callable[[Bench], None]:
    """``accelerate launch`` with that many processes; the program itself asks for the CPU."""
    command = ("accelerate", "launch", "--multi_gpu", "--num_processes", str(ranks), *options, PROGRAM, *arguments)
    return lambda bench: bench.run(*command, **how) and None


def resumed(*second: str, between: str = "true", ranks: int = 2) -> Callable[[Bench], None]:
    """An earlier run that leaves its state, what happens to it, and the run that resumes."""

    def both(bench: Bench) -> None:
        launch("--steps", "20", log="", timeout=150)(bench)
        bench.host().sh(f"cd {bench.folder} && {between}")
        launch("--resume", "state/step_20", *second, ranks=ranks, timeout=150)(bench)

    return both


def other_config(bench: Bench) -> None:
    """A configuration file with a key that no version of this year knows."""
    lines = (
        "compute_environment: LOCAL_MACHINE",
        "distributed_type: MULTI_CPU",
        "num_processes: 2",
        "use_cpu: true",
        "fsdp_wrap: true",
    )
    (bench.folder / "cluster.yaml").write_text("\n".join(lines))
    bench.run("accelerate", "launch", "--config_file", "cluster.yaml", PROGRAM)


EXPERIMENTS = (
    failure(
        case="killed-rank-accelerate-4",
        label="collective.rank-died",
        also=("host.oom-kill", "unknown"),
        title="Rank 3 of four is killed",
        story="accelerate launched four ranks; rank 3 is killed with SIGKILL after step 10. The agent reports exit code -9.",
        run=launch("--rows", "400000", "--steps", "3000", ranks=4, on={"step 10/": lambda job: job.host.kill(3)}),
        culprit={"rank": 3},
        evidence=("Signal 9 (SIGKILL)", "exitcode: -9", "exitcode  : -9", "(SIGKILL)"),
    ),
    failure(
        case="missing-target-accelerate",
        label="app.exception",
        title="A row without a target ends rank 1",
        story="Row 1000 of the table lacks its target. Its batch goes to rank 1, whose check raises; rank 0 waits in the gather of the loss.",
        run=launch("--missing-target", "1000"),
        culprit={"rank": 1},
        evidence=("has no target",),
    ),
    failure(
        case="missing-target-accelerate-4",
        label="app.exception",
        title="A row without a target ends rank 2 of four",
        story="Row 333 lacks its target, in the third batch of rank 2. The other ranks lose their connection to it.",
        run=launch("--missing-target", "333", ranks=4),
        culprit={"rank": 2},
        evidence=("has no target",),
    ),
    failure(
        case="unused-head-accelerate",
        label="collective.unused-params",
        title="The auxiliary head is used by no batch",
        story="The auxiliary head is only used for batches with an outlier above 50, and there is none. DDP misses its gradients in the second step.",
        run=launch("--outliers-above", "50"),
        evidence=("Expected to have finished reduction",),
    ),
    failure(
        case="filtered-gather-accelerate",
        label="collective.desync",
        also=("net.size-mismatch", "app.exception"),
        title="Each rank gathers as many rows as its filter lets through",
        story="The ranks gather only the predictions below 1, of which each has another number. gloo sees sizes that do not agree.",
        run=launch("--gather-valid"),
        evidence=("op.preamble.length", "gather", "size"),
    ),
    failure(
        case="resume-missing-accelerate",
        label="checkpoint.missing",
        title="The state to resume from is not there",
        story="The job is to resume from step 20000, which no run ever saved.",
        run=launch("--resume", "state/step_20000"),
        evidence=("step_20000",),
    ),
    failure(
        case="resume-mismatch-accelerate",
        label="checkpoint.incompatible",
        title="The state belongs to a narrower model",
        story="The state was saved with width 64, the model is made with width 96.",
        run=resumed("--width", "96"),
        evidence=("size mismatch", "Error(s) in loading state_dict"),
    ),
    failure(
        case="resume-truncated-accelerate",
        label="checkpoint.corrupt",
        title="The optimizer's state was cut short",
        story="The file system lost the end of optimizer.bin when a storage node went down.",
        run=resumed(between="truncate -s 9000 state/step_20/optimizer.bin"),
        evidence=("PytorchStreamReader", "central directory", "EOFError", "[Errno 22] Invalid argument"),
    ),
    failure(
        case="bad-precision-accelerate",
        label="app.config",
        title="fp8 without a library that has it",
        story="mixed_precision is fp8; none of the libraries that accelerate knows for it is installed.",
        run=launch("--mixed-precision", "fp8"),
        evidence=("fp8", "FP8"),
    ),
    failure(
        case="bad-config-file-accelerate",
        label="app.config",
        title="The configuration file of accelerate has a key that this version does not know",
        story="The file was written for another version: it holds `fsdp_wrap: true` at the top level. accelerate launch refuses to read it.",
        run=other_config,
        evidence=("fsdp_wrap", "unknown keys"),
    ),
    failure(
        case="config-file-missing-accelerate",
        label="app.config",
        also=("job.launch",),
        title="The configuration file of accelerate is not there",
        story="The path of the configuration file has a typing error.",
        run=lambda bench: bench.run("accelerate", "launch", "--config_file", "cluster.yml", PROGRAM) and None,
        evidence=("cluster.yml",),
    ),
    failure(
        case="program-missing-accelerate",
        label="job.launch",
        title="The training program does not exist",
        story="The path of the program has a typing error: python cannot open it in any of the ranks.",
        run=lambda bench: (
            bench.run("accelerate", "launch", "--multi_gpu", "--num_processes", "2", "regresion.py") and None
        ),
        evidence=("can't open file",),
    ),
    failure(
        case="sigterm-accelerate",
        label="job.preempted",
        title="accelerate launch gets SIGTERM",
        story="The scheduler ends the job by SIGTERM to the launcher in the middle of training.",
        run=launch("--rows", "400000", "--steps", "5000", on={"step 20/": lambda job: job.signal(signal.SIGTERM)}),
        evidence=("SIGTERM", "signal: 15", "death signal"),
    ),
    healthy(
        case="regression-accelerate",
        title="Two ranks train, save and end",
        story="Sixty steps with three saves of the state, launched by accelerate.",
        run=launch(),
    ),
    healthy(
        case="regression-accelerate-resumed-4",
        title="A run that resumes with four ranks what two have saved",
        story="The state of two ranks is loaded by four, which accelerate allows for plain DDP; random states of two ranks lack, which is only a message.",
        run=resumed(ranks=4),
    ),
)

"""The deepspeed launcher starts ranks on CPU, on one host or by pdsh on two, and something goes wrong."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bench import SYSTEM_PATH, Bench, Host
from experiment import Experiment, Needs
from mpi import hosts

# DeepSpeed compiles an operator of its own even for the CPU: once, into the environment.
CPU = Needs(
    environment="deepspeed",
    programs=("g++",),
    packages=("g++", "python3-dev"),
    paths=("/usr/include/python3.11/Python.h",),
)
PDSH = Needs(
    environment="deepspeed",
    programs=("g++", "pdsh"),
    packages=("g++", "python3-dev", "pdsh"),
    paths=("/usr/include/python3.11/Python.h",),
)
PROGRAM = "deepspeed_tabular.py"
failure = partial(Experiment, needs=CPU, seconds=300)


def config(stage: int = 1, batch: Mapping[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """The settings of the engine: AdamW of torch, which needs no compiler, under ZeRO."""
    sizes = batch or {"train_micro_batch_size_per_gpu": 16, "gradient_accumulation_steps": 1}
    adamw = {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}}
    return {**sizes, "optimizer": adamw, "zero_optimization": {"stage": stage}, "steps_per_print": 20, **more}


def build_operator(bench: Bench) -> None:
    """Let DeepSpeed compile its operator, for which a busy machine needs longer than any experiment has.

    A lock that is there is one of a run that was killed while it compiled: everybody would wait for it for ever.
    """
    folder = Path(f"{bench.environment}/extensions")
    for lock in folder.glob("*/lock"):
        lock.unlink()
    if not any(folder.glob("*/*.so")):
        program = "from deepspeed.accelerator import get_accelerator as a; a().create_op_builder('ShareMemCommBuilder').load()"
        around = {"PATH": f"{bench.environment}/bin:{SYSTEM_PATH}", "TORCH_EXTENSIONS_DIR": str(folder)}
        subprocess.run([bench.python, "-c", program], env=around, cwd=bench.folder, check=True, capture_output=True)


def launch(bench: Bench, *arguments: str, ranks: int = 2, settings: dict[str, Any] | None = None, **how: Any) -> None:
    """``deepspeed --num_gpus N program``, as on a machine with N GPUs."""
    started(bench, bench.host(), ("--num_gpus", str(ranks)), *arguments, settings=settings, **how)


def started(
    bench: Bench,
    host: Host,
    options: tuple[str, ...],
    *arguments: str,
    settings: dict[str, Any] | None = None,
    **how: Any,
) -> None:
    """Run the program by the launcher on a host."""
    build_operator(bench)
    (bench.folder / "ds_config.json").write_text(json.dumps(settings or config(), indent=2))
    around = {
        "PATH": f"{bench.folder}/bin:{bench.environment}/bin:{SYSTEM_PATH}",
        "TORCH_EXTENSIONS_DIR": f"{bench.environment}/extensions",
    }
    command = ("deepspeed", *options, PROGRAM, "--deepspeed", "--deepspeed_config", "ds_config.json", *arguments)
    host.run(*command, env=around, **{"timeout": 240, **how})


def nodes(bench: Bench, *arguments: str, hostfile: str = "", refuses: str = "", **how: Any) -> None:
    """Two hosts of two slots each; the launcher reaches them by pdsh and ssh, save the one that refuses."""
    first, _ = hosts(bench, "gpu-a01", "gpu-a02")
    ssh = bench.folder / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(SSH.format(folder=bench.folder, refuses=refuses or "-"))
    ssh.chmod(0o755)
    (bench.folder / "hostfile").write_text(hostfile or "gpu-a01 slots=2\ngpu-a02 slots=2\n")
    started(bench, first, ("--hostfile", "hostfile"), *arguments, **how)


SSH = """#!/bin/sh
while :; do case "$1" in -o*[!o]|-2|-a|-x) shift;; -o|-p|-l) shift 2;; -*) shift;; *) break;; esac; done
[ "$1" = {refuses} ] && {{ echo "ssh: connect to host $1 port 22: Connection refused" >&2; exit 255; }}
exec {folder}/remote "$@"
"""


def one_host(*arguments: str, **how: Any) -> Callable[[Bench], None]:
    """An experiment that is one launch on one host."""
    return lambda bench: launch(bench, *arguments, **how)


def two_hosts(*arguments: str, **how: Any) -> Callable[[Bench], None]:
    """An experiment that is one launch on two hosts."""
    return lambda bench: nodes(bench, *arguments, **how)


def resumed(
    *second: str, ranks: int = 2, after: dict[str, Any] | None = None, between: str = "true"
) -> Callable[[Bench], None]:
    """A run that saves a checkpoint, and one that resumes from it."""

    def both(bench: Bench) -> None:
        launch(bench, "--steps", "20", log="")
        bench.host().sh(f"cd {bench.folder} && {between}")
        launch(bench, "--resume", "checkpoints", *second, ranks=ranks, settings=after)

    return both


EXPERIMENTS = (
    Experiment(
        case="healthy-deepspeed",
        label="healthy",
        title="Two ranks train under the deepspeed launcher, save and end",
        story="Sixty steps of ZeRO stage 1 on CPU with three saves of the engine's state.",
        run=one_host(),
        needs=CPU,
    ),
    failure(
        case="killed-rank-deepspeed",
        label="collective.rank-died",
        also=("host.oom-kill", "unknown"),
        title="Rank 2 of four is killed under the deepspeed launcher",
        story="""Four ranks train by ZeRO stage 1; rank 2 is killed with SIGKILL after step 10. The launcher looks once a second, kills
        the others, and says which return code it saw: -9. The command beside it is that of the rank that it started last, whichever has died.""",
        run=one_host(ranks=4, on={"step 10/": lambda job: job.host.kill(2)}),
        evidence=("return code = -9",),
    ),
    failure(
        case="missing-target-deepspeed",
        label="app.exception",
        title="A row without a target ends one rank of four",
        story="Row 453 lacks its target. Rank 2, whose batch holds it in step 23, raises; the launcher ends the others.",
        run=one_host("--bad-row", "453", ranks=4),
        culprit={"rank": 2},
        evidence=("targets are missing",),
    ),
    failure(
        case="batch-sizes-deepspeed",
        label="app.config",
        title="The batch sizes of ds_config.json do not fit the number of ranks",
        story="""The settings were written for four GPUs: train_batch_size 64 with 16 a GPU and one accumulation step. The job runs on
        two ranks.""",
        run=one_host(
            settings=config(
                batch={"train_batch_size": 64, "train_micro_batch_size_per_gpu": 16, "gradient_accumulation_steps": 1}
            ),
        ),
        evidence=("Check batch related parameters", "train_batch_size"),
    ),
    failure(
        case="fp16-deepspeed",
        label="app.config",
        title="fp16 where the accelerator has none",
        story="The settings ask for fp16, which the CPU accelerator of this machine does not support.",
        run=one_host(settings=config(fp16={"enabled": True})),
        evidence=("fp16",),
    ),
    failure(
        case="other-world-size-deepspeed",
        label="checkpoint.incompatible",
        title="ZeRO's checkpoint of two ranks is resumed by four",
        story="""The optimizer's state was saved in two parts by two ranks under ZeRO stage 1. Four ranks resume: DeepSpeed refuses to
        cut the parts anew.""",
        run=resumed(ranks=4),
        evidence=("world size",),
    ),
    failure(
        case="other-stage-deepspeed",
        label="checkpoint.incompatible",
        also=("checkpoint.missing", "app.exception"),
        title="A checkpoint of ZeRO stage 1 is resumed under stage 3",
        story="The checkpoint was saved under ZeRO stage 1; the settings have been changed to stage 3 since.",
        run=resumed(after=config(stage=3)),
        evidence=("len(self.ckpt_list) > 0", "AssertionError"),
    ),
    failure(
        case="missing-checkpoint-deepspeed",
        label="checkpoint.missing",
        title="The folder to resume from holds no checkpoint of DeepSpeed",
        story="The job is to resume from a folder in which no run has saved: there is no file `latest` in it.",
        run=one_host("--resume", "runs/baseline"),
        evidence=("runs/baseline",),
    ),
    failure(
        case="bad-hostfile-deepspeed",
        label="job.launch",
        also=("app.config", "mpi.launch"),
        title="A line of the hostfile has no slots",
        story="The hostfile names its second host as for MPICH, `gpu-a02:2`. The launcher wants `slots=`.",
        run=two_hosts(hostfile="gpu-a01 slots=2\ngpu-a02:2\n"),
        needs=PDSH,
        evidence=("bad entry", "Bad hostfile"),
    ),
    failure(
        case="unreachable-host-deepspeed",
        label="job.launch",
        also=("mpi.launch", "net.socket-connect"),
        title="The first host of the hostfile refuses ssh",
        story="No sshd runs on gpu-a01. The launcher tries `ssh gpu-a01 hostname` before it starts anything, and gives up.",
        run=two_hosts(refuses="gpu-a01"),
        needs=PDSH,
        culprit={"host": "gpu-a01"},
        evidence=("was not reachable via ssh",),
    ),
    failure(
        case="refusing-second-host-deepspeed",
        label="job.launch",
        also=("mpi.launch", "net.socket-connect"),
        title="The second host of the hostfile refuses ssh",
        story="No sshd runs on gpu-a02. pdsh starts the launcher on gpu-a01 alone, whose ranks wait for the others until somebody ends the job.",
        run=two_hosts(refuses="gpu-a02", timeout=60),
        needs=PDSH,
        culprit={"host": "gpu-a02"},
        evidence=("Connection refused", "exited with exit code 255"),
        hung=True,
    ),
    failure(
        case="missing-target-two-hosts-deepspeed",
        label="app.exception",
        title="A row without a target ends a rank, with the output of two hosts by pdsh",
        story="Row 51 lacks its target. Rank 3, whose batch holds it in step 14, raises, and the launcher of its host ends the other; the ranks of the other host lose their connections.",
        run=two_hosts("--bad-row", "51"),
        needs=PDSH,
        culprit={"rank": 3, "host": "gpu-a02"},
        evidence=("targets are missing",),
    ),
    Experiment(
        case="healthy-two-hosts-deepspeed",
        label="healthy",
        title="Four ranks train on two hosts, started by pdsh",
        story="Sixty steps of ZeRO stage 2; pdsh puts the host before every line.",
        run=two_hosts(settings=config(stage=2)),
        needs=PDSH,
    ),
)

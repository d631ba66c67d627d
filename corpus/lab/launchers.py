"""Command lines that several suites share."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench import Bench, Running
from experiment import Needs

TORCH = Needs(environment="torch-2.13")
TORCH_ROOT = Needs(environment="torch-2.13", root=True)


def torchrun(ranks: int, *program: str, flags: str = "") -> tuple[str, ...]:
    """Return the command that starts a program by torchrun on one node."""
    return ("torchrun", *flags.split(), "--nproc-per-node", str(ranks), *program)


def node(
    index: int, nodes: int, ranks: int, *program: str, flags: str = "", master: str = "gpu-a01"
) -> tuple[str, ...]:
    """Return the command that starts a program by torchrun on one of several nodes."""
    where = f"--nnodes {nodes} --node-rank {index} --master-addr {master} --master-port 29500"
    return torchrun(ranks, *program, flags=f"{flags} {where}")


def shell(script: str) -> tuple[str, ...]:
    """Return the command that runs a script, as in a job script."""
    return ("bash", "-c", script)


TEXTS = """python - <<'P'
import json
texts = ["shares rose on monday", "the match was lost", "a new phone was shown", "talks were held"]
with open("train.jsonl", "w") as f:
    for i in range({count}):
        record = {{"text": texts[i % 4] + f" number {{i}}", "label": i % 4}}
        {change}
        f.write(json.dumps(record) + "\\n")
    {after}
P
"""


def finetune(
    ranks: int,
    *options: str,
    count: int = 96,
    change: str = "pass",
    after: str = "pass",
    flags: str = "",
    before: str = "",
):
    """Return a script that writes the data, then trains on it."""
    job = " ".join(torchrun(ranks, "finetune.py", "--train_file", "train.jsonl", *options, flags=flags))
    return shell(TEXTS.format(count=count, change=change, after=after) + before + job)


def simply(*command: str, timeout: float = 180, **options: object) -> Callable[[Bench], None]:
    """Return an experiment that runs one command."""

    def run(bench: Bench) -> None:
        bench.run(*command, timeout=timeout, **options)

    return run


def wait_for(job: Running, text: str, seconds: float = 150) -> None:
    """Wait until the log of a job holds the text."""
    ends = time.monotonic() + seconds
    while text not in job.log.read_text("utf-8", "replace") and time.monotonic() < ends:
        time.sleep(0.1)

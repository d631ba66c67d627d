"""Ranks of a gloo job that die, stop or fail."""

from __future__ import annotations

from bench import Bench
from experiment import Experiment, Needs

TORCH = Needs(environment="torch-2.13")


def killed(bench: Bench) -> None:
    """Kill rank 2 of four after the third step."""
    torchrun = ("torchrun", "--nproc-per-node", "4", "train.py")
    bench.run(*torchrun, on={"step 3/": lambda job: job.host.kill(rank=2)})


EXPERIMENTS = (
    Experiment(
        case="killed-rank-gloo",
        label="collective.rank-died",
        title="Rank 2 of four is killed by SIGKILL in the middle of training",
        story="""Four ranks train over gloo under torchrun. After the third step somebody kills rank 2 with SIGKILL. The
        others lose their connection to it, and the elastic agent reports exit code -9 of local rank 2.""",
        run=killed,
        needs=TORCH,
        culprit={"rank": 2},
        also=("host.oom-kill", "unknown"),
        evidence=("Signal 9 (SIGKILL)",),
    ),
)

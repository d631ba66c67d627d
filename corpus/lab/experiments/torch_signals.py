"""Somebody stops the job: signals to the agent; elastic restarts."""

from __future__ import annotations

import signal

from bench import Bench
from experiment import Experiment
from launchers import TORCH, node, shell, simply, torchrun, wait_for

FLAKY = """sed -i 's/^    dist.init_process_group(/    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])\\n    if attempt < {fails}{whom}:\\n        raise RuntimeError(f"cannot lease a licence, attempt {{attempt + 1}}")\\n    dist.init_process_group(/' train.py
torchrun --nproc-per-node 2 --max-restarts 2 train.py"""
RANK_1 = ' and os.environ["RANK"] == "1"'


def send_signal(number: signal.Signals):
    """React by a signal to the launcher."""
    return lambda job: job.signal(number)


def drain(bench: Bench) -> None:
    """The scheduler takes the second node away with SIGTERM."""
    hosts = [bench.host("gpu-d01"), bench.host("gpu-d02")]
    jobs = [
        h.start(*node(i, 2, 1, "train.py", "--steps", "40", master="gpu-d01"), log=f"{h.name}.log")
        for i, h in enumerate(hosts)
    ]
    wait_for(jobs[0], "step 4/")
    jobs[1].signal(signal.SIGTERM)
    for job in jobs:
        job.wait()


EXPERIMENTS = (
    Experiment(
        case="sigterm-to-agent",
        label="job.preempted",
        title="The agent gets SIGTERM, as from a scheduler",
        story="Two ranks train; after the third step torchrun gets SIGTERM, ends its ranks and leaves with SignalException.",
        run=simply(*torchrun(2, "train.py", "--steps", "30"), on={"step 3/": send_signal(signal.SIGTERM)}),
        needs=TORCH,
        evidence=("got signal: 15", "SIGTERM"),
    ),
    Experiment(
        case="sigterm-to-agent-of-one-node",
        label="job.preempted",
        title="The second of two nodes is taken away with SIGTERM",
        story="""Two nodes with a rank each. The agent of the second node gets SIGTERM and says so; on the first the connection to rank 1 is
        lost.""",
        run=drain,
        needs=TORCH,
        culprit={"host": "gpu-d02"},
        evidence=("got signal: 15", "SIGTERM"),
        expected_wrong="the exception of the first node bears no time: the SIGTERM could be fallout of the closed connection",
    ),
    Experiment(
        case="sighup-to-agent",
        label="job.hangup",
        title="The ssh session in which torchrun runs is closed",
        story="Two ranks train in a terminal. The terminal goes away and torchrun gets SIGHUP: SignalException, signal 1.",
        run=simply(
            *torchrun(2, "train.py", "--steps", "30", flags="--tee 3"), on={"step 4/": send_signal(signal.SIGHUP)}
        ),
        needs=TORCH,
        evidence=("got signal: 1", "SIGHUP"),
    ),
    Experiment(
        case="ctrl-c-to-agent",
        label="job.preempted",
        title="Ctrl-C in the terminal",
        story="Four ranks train; the user presses Ctrl-C, so that torchrun gets SIGINT.",
        run=simply(*torchrun(4, "train.py", "--steps", "30"), on={"step 3/": send_signal(signal.SIGINT)}),
        needs=TORCH,
        evidence=("got signal: 2", "SIGINT", "KeyboardInterrupt"),
    ),
    Experiment(
        case="time-limit-timeout-command",
        label="job.preempted",
        title="The job runs under timeout(1), which sends SIGTERM",
        story="""The job script wraps torchrun in 'timeout 20'. After 20 seconds torchrun gets SIGTERM; its log does not tell from whom.""",
        run=simply("timeout", "20", *torchrun(2, "train.py", "--steps", "500")),
        needs=TORCH,
        also=("job.time-limit",),
        evidence=("got signal: 15", "SIGTERM"),
    ),
    Experiment(
        case="restarts-exhausted",
        label="app.exception",
        title="Rank 1 fails at each of three attempts",
        story="""torchrun may restart the ranks twice. Rank 1 cannot get a licence in any of the three attempts; the last attempt
        makes the job fail.""",
        run=simply(*shell(FLAKY.format(fails=9, whom=RANK_1))),
        needs=TORCH,
        culprit={"rank": 1},
        evidence=("cannot lease a licence",),
    ),
    Experiment(
        case="restarts-then-success",
        label="healthy",
        title="All ranks fail twice, the third attempt succeeds",
        story="""torchrun may restart the ranks twice. All ranks fail in the first and second attempt; the third trains to its end.""",
        run=simply(*shell(FLAKY.format(fails=2, whom=""))),
        needs=TORCH,
    ),
)

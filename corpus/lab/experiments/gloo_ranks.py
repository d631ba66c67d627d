"""Ranks of a gloo job that are killed, stopped, slow, or fail by themselves."""

from __future__ import annotations

import signal

from bench import Bench
from experiment import Experiment
from launchers import TORCH, node, shell, simply, torchrun, wait_for

DEAD = ("host.oom-kill", "unknown")
"""An exit by SIGKILL does not say who sent it: the OOM killer is as good an answer."""


def kill(rank: int, number: signal.Signals = signal.SIGKILL):
    """React by a signal to a rank."""
    return lambda job: job.host.kill(rank, number)


def killed_of_two_nodes(bench: Bench) -> None:
    """Kill rank 3 (second node), whose agent dies with it."""
    first, second = bench.host("gpu-a01"), bench.host("gpu-a02")
    jobs = [
        host.start(*node(i, 2, 2, "train.py", "--steps", "20"), log=f"{host.name}.log")
        for i, host in enumerate((first, second))
    ]
    wait_for(jobs[0], "step 4/")
    second.kill(3)
    for job in jobs:
        job.wait()


def powered_off(bench: Bench) -> None:
    """The second node goes away all at once; its log ends in the middle."""
    first, second = bench.host("gpu-b03"), bench.host("gpu-b04")
    jobs = [
        h.start(*node(i, 2, 2, "train.py", "--steps", "30", master="gpu-b03"), log=f"{h.name}.log")
        for i, h in enumerate((first, second))
    ]
    wait_for(jobs[0], "step 5/")
    second.sh("ip link set eth0 down")
    jobs[1].stop()
    jobs[0].wait()


def lost_link(bench: Bench) -> None:
    """The interface of the second node goes down and stays down; both sides only time out."""
    hosts = [bench.host("gpu-b05"), bench.host("gpu-b06")]
    jobs = [
        h.start(*node(i, 2, 2, "train.py", "--steps", "30", "--timeout", "10", master="gpu-b05"), log=f"{h.name}.log")
        for i, h in enumerate(hosts)
    ]
    wait_for(jobs[0], "step 3/")
    hosts[1].sh("ip link set eth0 down")
    for job in jobs:
        job.wait()


EXPERIMENTS = (
    Experiment(
        case="killed-rank-gloo",
        label="collective.rank-died",
        title="Rank 2 of four is killed by SIGKILL in the middle of training",
        story="""Four ranks train over gloo under torchrun. After the third step somebody kills rank 2 with SIGKILL. The
        agent reports exit code -9 of local rank 2 and ends the others; nothing says who sent the signal.""",
        run=simply(*torchrun(4, "train.py"), on={"step 3/": kill(2)}),
        needs=TORCH,
        culprit={"rank": 2},
        also=DEAD,
        evidence=("Signal 9 (SIGKILL)", "exitcode: -9", "exitcode  : -9"),
    ),
    Experiment(
        case="killed-rank-gloo-8-tee",
        label="collective.rank-died",
        title="Rank 5 of eight is killed; every line bears the name of its rank",
        story="""Eight ranks train over gloo under torchrun with --tee 3, so that each line says which rank printed it. After the
        second step rank 5 is killed with SIGKILL. Several others report that the connection was closed before they are ended.""",
        run=simply(*torchrun(8, "train.py", "--pause", "0.5", flags="--tee 3"), on={"step 2/": kill(5)}),
        needs=TORCH,
        culprit={"rank": 5},
        also=DEAD,
        evidence=("Signal 9 (SIGKILL)", "exitcode: -9", "exitcode  : -9"),
    ),
    Experiment(
        case="killed-rank-gloo-two-nodes",
        label="collective.rank-died",
        title="Rank 3, on the second of two nodes, is killed by SIGKILL",
        story="""Two nodes with two ranks each, one log a node. After the fourth step rank 3 is killed. Its agent reports exit code
        -9; the ranks of the first node lose their connections.""",
        run=killed_of_two_nodes,
        needs=TORCH,
        culprit={"rank": 3, "host": "gpu-a02"},
        also=DEAD,
        evidence=("Signal 9 (SIGKILL)", "exitcode: -9", "exitcode  : -9"),
    ),
    Experiment(
        case="killed-rank-spawn",
        label="collective.rank-died",
        title="Process 1 of a torch.multiprocessing.spawn is killed",
        story="""An image classifier starts its four ranks with torch.multiprocessing.spawn. Rank 1 is killed with SIGKILL in the second
        epoch. The parent says which process was terminated by which signal; the others lose the connection.""",
        run=simply(
            "python",
            "images.py",
            on={
                r"rank 1 pid": lambda job: setattr(job, "victim", int(job.last.split(b"pid ")[1].split()[0])),
                r"Epoch: \[1\]": lambda job: job.host.signal(job.victim, signal.SIGKILL),
            },
        ),
        needs=TORCH,
        culprit={"rank": 1},
        also=DEAD,
        evidence=("process 1 terminated with signal SIGKILL",),
    ),
    Experiment(
        case="node-gone-gloo",
        label="collective.rank-died",
        title="The second node disappears without a word",
        story="""Two nodes with two ranks each. In the middle of training the second node is switched off: its log ends between two steps,
        its packets stop. The ranks of the first node time out in an all-reduce, waiting for ranks 2 and 3.""",
        run=powered_off,
        needs=TORCH,
        also=("collective.timeout", "host.node-failure", "collective.straggler"),
        evidence=("Timed out waiting",),
    ),
    Experiment(
        case="lost-link-gloo",
        label="collective.timeout",
        title="The network interface of a node goes down and both sides time out",
        story="""Two nodes with two ranks each. After the third step eth0 of the second node goes down. No process dies; ranks on both sides
        wait ten seconds for data of the other side and give up. The log does not tell which side lost its link.""",
        run=lost_link,
        needs=TORCH,
        evidence=("Timed out waiting",),
    ),
    Experiment(
        case="stopped-rank-gloo",
        label="collective.straggler",
        title="Rank 1 stands still (SIGSTOP) and the others time out waiting for it",
        story="""Four ranks train over gloo with a timeout of eight seconds. After the third step rank 1 is stopped with SIGSTOP, as a
        debugger or a frozen container would do. Its neighbours time out in the all-reduce of the gradients.""",
        run=simply(*torchrun(4, "train.py", "--timeout", "8"), on={"step 3/": kill(1, signal.SIGSTOP)}),
        needs=TORCH,
        culprit={"rank": 1},
        also=("collective.timeout",),
        evidence=("Timed out waiting",),
    ),
    Experiment(
        case="stopped-rank-monitored-barrier",
        label="collective.straggler",
        title="A monitored barrier names the rank that stands still",
        story="""Four ranks meet in a monitored barrier after each step. Rank 2 is stopped with SIGSTOP after the second step; rank 0
        says after eight seconds that rank 2 failed to pass the barrier.""",
        run=simply(
            *torchrun(4, "train.py", "--timeout", "8", "--monitored", "--pause", "1.5", flags="--tee 3"),
            on={"step 2/": kill(2, signal.SIGSTOP)},
        ),
        needs=TORCH,
        culprit={"rank": 2},
        also=("collective.timeout",),
        evidence=("failed to pass monitoredBarrier",),
    ),
    Experiment(
        case="slow-stage-pipeline",
        label="collective.straggler",
        title="Stage 2 of a pipeline recomputes for longer than the others wait",
        story="""Four pipeline stages pass activations by send and recv with a timeout of six seconds. Stage 2 needs nine seconds for a micro
        batch, and says so; stage 3 gives up waiting to receive, and the others follow.""",
        run=simply(*torchrun(4, "pipeline.py", "--timeout", "6", "--slow-stage", "2", "--slow-by", "9")),
        needs=TORCH,
        culprit={"rank": 2},
        also=("collective.timeout",),
        evidence=("Timed out waiting",),
    ),
    Experiment(
        case="segfault-native-resize",
        label="app.segfault",
        title="A rank crashes in a native library that got a bad pointer",
        story="""An image classifier under torch.multiprocessing.spawn calls an in-house library through ctypes. On ranks with an even number
        the batch is empty and the library writes to address 8: SIGSEGV.""",
        run=simply("python", "images.py", "-w", "2", "--native-resize"),
        needs=TORCH,
        culprit={"rank": 0},
        evidence=("SIGSEGV",),
    ),
    Experiment(
        case="segfault-native-resize-faulthandler",
        label="app.segfault",
        title="The same crash with Python's fault handler on",
        story="""The same crash of rank 0 in a native library, with PYTHONFAULTHANDLER=1: the stack of the crashing thread is printed before
        the process dies.""",
        run=simply("python", "images.py", "-w", "2", "--native-resize", env={"PYTHONFAULTHANDLER": "1"}),
        needs=TORCH,
        evidence=("SIGSEGV", "Segmentation fault"),
    ),
    Experiment(
        case="exit-status-spawn",
        label="unknown",
        title="A rank leaves on purpose with status 3 when the accuracy is too low",
        story="""After two epochs of warm-up every rank compares its accuracy with a target and leaves with status 3 when it is missed. The
        first one that does so takes the others with it.""",
        run=simply("python", "images.py", "-w", "2", "--target", "99"),
        needs=TORCH,
        also=("app.exception",),
        evidence=("below the target", "exit code 3"),
    ),
    Experiment(
        case="killed-store-host-pipeline",
        label="collective.rank-died",
        title="Rank 0, which hosts the store, is killed and the heartbeats of the others fail",
        story="""Four pipeline stages write heartbeats into the store that rank 0 hosts (no torchrun store: static rendezvous by tcp://).
        Rank 0 is killed with SIGKILL; the others report a broken store and closed connections.""",
        run=simply(
            *shell(
                "for r in 0 1 2 3; do RANK=$r WORLD_SIZE=4 python pipeline.py --init tcp://gpu-a01:29500 --heartbeat 0.5 & done; wait"
            ),
            on={"iteration 2/": kill(0)},
        ),
        needs=TORCH,
        also=("rdzv.store-lost", "net.peer-closed", "unknown", "host.oom-kill"),
        evidence=("Killed", "Connection closed by peer", "Broken pipe", "Connection reset"),
    ),
)

"""A job that computes features: files, groups, collectives and processes used as they may not be."""

from __future__ import annotations

from functools import partial

from bench import Bench
from experiment import Experiment
from launchers import TORCH, TORCH_ROOT, node, shell, simply, torchrun, wait_for

failure = partial(Experiment, needs=TORCH, seconds=150)


def other_host_unheard(bench: Bench) -> None:
    """Of two hosts only the log of the first is there; on the second a rank is killed."""
    hosts = [bench.host("gpu-b01"), bench.host("gpu-b02")]
    options = ("features.py", "--pairs", "--pause", "0.2")
    jobs = [
        host.start(*node(i, 2, 1, *options, master="gpu-b01"), log="" if i else "job.log")
        for i, host in enumerate(hosts)
    ]
    wait_for(jobs[0], "batch 10 of")
    jobs[1].stop()
    jobs[0].wait(90)


EXPERIMENTS = (
    failure(
        case="kept-batches-loader",
        label="host.limits",
        also=("app.dataloader",),
        title="A job keeps all batches of its loader and runs out of file descriptors",
        story="""Every tensor that a loader worker sends is a file descriptor, and the job keeps what it is given. Under ulimit -n 256 the process that reads
        can take no more of them.""",
        run=simply(*shell("ulimit -n 256; torchrun --nproc-per-node 2 features.py --workers 2 --keep --channels 16")),
        evidence=("ancdata", "Too many open files"),
    ),
    failure(
        case="missing-folder-features",
        label="checkpoint.write",
        also=("host.filesystem", "app.config", "app.exception"),
        title="The folder for the result does not exist",
        story="""After the work is done rank 0 shall save the features into a folder that nobody made; torch.save refuses. The other rank is done already.""",
        run=simply(*torchrun(2, "features.py", "--out", "/mnt/features/run7/features.pt")),
        culprit={"rank": 0},
        evidence=("Parent directory",),
    ),
    failure(
        case="gather-list-everywhere",
        label="collective.misuse",
        also=("app.exception",),
        title="All ranks pass a list to gather",
        story="""Only the rank that gathers may give a list to torch.distributed.gather; here all do. The others raise ValueError before they send.""",
        run=simply(*torchrun(3, "features.py", "--lists", "all", "--length", "160")),
        evidence=("gather_list",),
    ),
    failure(
        case="graph-break-fullgraph",
        label="app.compile",
        also=("app.exception",),
        title="The model cannot be compiled as one graph",
        story="""The model decides by the value of a tensor what to do. torch.compile with fullgraph=True refuses that on all ranks.""",
        run=simply(*torchrun(2, "features.py", "--compile", "--length", "160")),
        evidence=("Unsupported", "UserError", "data-dependent", "graph break"),
    ),
    failure(
        case="unguarded-start-of-processes",
        label="app.exception",
        also=("app.config", "job.launch"),
        title="Processes are spawned where no guard keeps their children from doing so",
        story="""A script that came from a notebook spawns two processes at its top level, without 'if __name__ == "__main__"'. Each child would spawn
        children of its own; multiprocessing refuses.""",
        run=simply("python", "quickstart.py"),
        evidence=("An attempt has been made to start a new process",),
    ),
    failure(
        case="other-host-unheard-gloo",
        label="net.peer-closed",
        also=("collective.rank-died",),
        needs=TORCH_ROOT,
        title="The other host of two falls silent, and there is only the log of the first",
        story="""Everything on the second of two hosts is killed at once. Only the log of the first host is there: its connection is closed by the other side.""",
        run=other_host_unheard,
        evidence=("Connection closed by peer", "Connection reset by peer"),
    ),
)

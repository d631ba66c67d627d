"""Stacks of hung ranks: py-spy, gdb and faulthandler, where one rank is the odd one out."""

from __future__ import annotations

import signal

from bench import Bench
from experiment import Experiment, Needs
from launchers import TORCH, finetune, torchrun, wait_for

GDB = Needs(environment="torch-2.13", programs=("gdb",), packages=("gdb",))
FEED = 'record["attachment"] = "feed" if i == {record} else None'


def stuck(bench: Bench, ranks: int = 2, record: int = 33, flags: str = ""):
    """A job of which one rank waits for its data (a named pipe) while the others wait in the all-reduce."""
    options = ("--num_workers", "0", "--ddp_timeout", "600", "--batch_size", "4")
    job = finetune(ranks, *options, change=FEED.format(record=record), before="mkfifo feed\n", flags=flags)
    running = bench.host().start(*job)
    wait_for(running, "batches on this rank")
    bench.run("sleep", "12", log="")
    return running


def py_spy(ranks: int, record: int):
    """Dump every rank with py-spy, one file a rank."""

    def run(bench: Bench) -> None:
        job = stuck(bench, ranks, record)
        host = bench.host()
        for rank in range(ranks):
            host.run("py-spy", "dump", "--pid", str(host.rank(rank)), log=f"rank{rank}.stack.log")
        job.stop()
        job.wait(5)

    return run


SHARDS = """python - <<'P'
import os, struct
os.makedirs("shards"), os.makedirs("logs", exist_ok=True)
for rank in range(4):
    for step in range(40):
        path = f"shards/{rank}-{step:03}.bin"
        if (rank, step) == STUCK:
            os.mkfifo(path)
        else:
            open(path, "wb").write(struct.pack("<32f", *(0.1 * ((rank + step + i) % 7) for i in range(32))))
P
"""


def spy_on(host, rank: int) -> None:
    host.run("py-spy", "dump", "--pid", str(host.rank(rank)), log=f"rank{rank}.stack.log")


def debug(host, rank: int) -> None:
    commands = ("-batch", "-nx", "-ex", "set pagination off", "-ex", "thread apply all bt 20")
    host.run("gdb", "-p", str(host.rank(rank)), *commands, log=f"rank{rank}.gdb.log")


def ask_for_stack(host, rank: int) -> None:
    host.kill(rank, signal.SIGUSR1)


def recorded(stuck: tuple[int, int] | None, *options: str, ranks: tuple[int, ...], take=spy_on, flags: str = ""):
    """A job whose ranks write the dumps of their Flight Recorders. Of some of them a stack is taken."""

    def run(bench: Bench) -> None:
        host = bench.host()
        host.run("bash", "-c", SHARDS.replace("STUCK", str(stuck)), log="")
        environment = {"TORCH_FR_BUFFER_SIZE": "200"}
        command = torchrun(4, "averaged.py", "--dump-to", str(bench.logs), *options, flags=flags)
        job = host.start(*command, env=environment)
        wait_for(job, "step 4 loss")
        bench.run("sleep", "14", log="")
        for rank in ranks:
            take(host, rank)
        bench.run("sleep", "14", log="")
        job.stop()
        job.wait(5)

    return run


def gdb(bench: Bench) -> None:
    """Native stacks of both ranks, in one file after the log."""
    job = stuck(bench)
    host = bench.host()
    for rank in range(2):
        command = (
            "gdb",
            "-p",
            str(host.rank(rank)),
            "-batch",
            "-nx",
            "-ex",
            "set pagination off",
            "-ex",
            "thread apply all bt 12",
        )
        host.run(*command, log=f"gdb-rank{rank}.log")
    job.stop()
    job.wait(5)


def user_signal(bench: Bench) -> None:
    """kill -USR1 on each rank of a trainer whose rank 2 is stopped."""
    job = bench.host().start(*torchrun(4, "train.py", "--timeout", "600", "--steps", "50", flags="--tee 3"))
    wait_for(job, "step 3/")
    job.host.kill(2, signal.SIGSTOP)
    bench.run("sleep", "4", log="")
    for rank in (0, 1, 3):
        job.host.kill(rank, signal.SIGUSR1)
        bench.run("sleep", "1", log="")
    bench.run("sleep", "2", log="")
    job.stop()
    job.wait(5)


EXPERIMENTS = (
    Experiment(
        case="hang-py-spy-loader-2",
        label="collective.straggler",
        title="py-spy shows rank 1 reading data, rank 0 in the all-reduce",
        story="""Two ranks hang: rank 1 reads a record from storage that never answers (a named pipe), rank 0 waits for it in the backward pass.
        The log is silent; py-spy dumps of both ranks tell where they are.""",
        run=py_spy(2, 33),
        needs=TORCH,
        culprit={"rank": 1},
        also=("app.dataloader", "app.hang"),
        evidence=("__getitem__", "finetune.py"),
        hung=True,
    ),
    Experiment(
        case="hang-py-spy-loader-4",
        label="collective.straggler",
        title="py-spy shows rank 2 of four reading data",
        story="""Four ranks hang: rank 2 reads a record from storage that never answers, the others wait in the backward pass. One py-spy dump a
        rank.""",
        run=py_spy(4, 50),
        needs=TORCH,
        culprit={"rank": 2},
        also=("app.dataloader", "app.hang"),
        evidence=("__getitem__", "finetune.py"),
        hung=True,
    ),
    Experiment(
        case="hang-recorder-and-stack",
        label="collective.straggler",
        title="Flight Recorders name rank 2, whose stack shows it reading a shard",
        story="""Four ranks average their gradients by gloo. Rank 2 reads a shard from storage that never answers (a named pipe). After 20
        seconds each rank writes the dump of its Flight Recorder, a pickle; py-spy took the stack of rank 2 alone.""",
        run=recorded((2, 9), ranks=(2,)),
        needs=TORCH,
        culprit={"rank": 2},
        also=("app.dataloader", "app.hang"),
        evidence=("read_shard",),
    ),
    Experiment(
        case="hang-recorder-gil",
        label="collective.straggler",
        title="Three Flight Recorders wait, rank 1 wrote no dump because a search holds the GIL",
        story="""Four ranks average their gradients by gloo. Rank 1 searches a text by an expression that backtracks without end and holds the
        GIL, so its timer writes no dump. The other three write theirs as JSON; py-spy took the stacks of all four ranks.""",
        run=recorded(None, "--format", "json", "--pattern", r"(a+)+$", ranks=(0, 1, 2, 3)),
        needs=TORCH,
        culprit={"rank": 1},
        also=("collective.timeout", "app.hang"),
        evidence=("clean", "nccl_trace", "all_reduce"),
    ),
    Experiment(
        case="hang-recorder-gdb",
        label="collective.straggler",
        title="Flight Recorders name rank 3, which gdb shows in open()",
        story="""The job of hang-recorder-and-stack, with rank 3 at the named pipe. gdb took the native stacks of rank 3 alone.""",
        run=recorded((3, 7), ranks=(3,), take=debug),
        needs=GDB,
        culprit={"rank": 3},
        also=("app.dataloader", "app.hang"),
        evidence=("open", "all_reduce"),
    ),
    Experiment(
        case="hang-recorder-faulthandler",
        label="collective.straggler",
        title="Flight Recorders name rank 0, which prints its stack on SIGUSR1",
        story="""The job of hang-recorder-and-stack, with rank 0 at the named pipe. Rank 0 got SIGUSR1 and printed its stacks by faulthandler;
        torchrun put the local rank before each line.""",
        run=recorded((0, 6), "--format", "json", ranks=(0,), take=ask_for_stack, flags="--tee 3"),
        needs=TORCH,
        culprit={"rank": 0},
        also=("app.dataloader", "app.hang"),
        evidence=("read_shard", "all_reduce"),
    ),
    Experiment(
        case="hang-gdb-loader",
        label="collective.straggler",
        title="gdb shows rank 1 in open(), rank 0 waiting in gloo",
        story="""The same hang of two ranks, with gdb's 'thread apply all bt' of both: rank 1 is in open64 of the named pipe, rank 0 in the
        wait of gloo.""",
        run=gdb,
        needs=GDB,
        culprit={"rank": 1},
        also=("app.dataloader", "app.hang"),
        evidence=("open", "gloo"),
        hung=True,
    ),
    Experiment(
        case="hang-usr1-faulthandler",
        label="collective.straggler",
        title="Three of four ranks tell by SIGUSR1 that they wait in backward",
        story="""Rank 2 of four is stopped (SIGSTOP). The others answer kill -USR1 with their stacks, in the backward pass; rank 2 does
        not answer.""",
        run=user_signal,
        needs=TORCH,
        also=("app.hang", "collective.timeout", "unknown"),
        evidence=("run_backward", "backward"),
        hung=True,
    ),
)

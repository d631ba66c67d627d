"""Logs of failed training jobs, made: the same arguments give the same bytes. All names and numbers are invented.

    python biglog.py job FILE MIB          one log of 64 ranks, by turns
    python biglog.py crash FILE MIB        one log of a node with 8 ranks, dense in records
    python biglog.py ranks FOLDER COUNT    a log of 70 kB for each rank of one job, and one rank that hangs
    python biglog.py folders FOLDER COUNT  folders of one log of 5 kB each, with about 15 records
    python biglog.py joined FILE MB        the logs of corpus/, joined by name, again and again

A job begins with NCCL's start. Then come NCCL's traces of collectives (four lines of five), progress bars that
overprint themselves, steps of each rank, metrics, words of failures in healthy lines, and warnings.
At the end one rank loses its network, and the watchdogs of all others give up.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "corpus"
MIB, MB = 1 << 20, 10**6
ON_NODE = 8
PACKAGES = "/srv/env/lib/python3.12/site-packages"
TIMEOUT_MS = 600_000
OPERATIONS = ("AllReduce", "ReduceScatter", "AllGather")
SETTINGS = {"NCCL_SOCKET_IFNAME": "ib0", "NCCL_IB_TIMEOUT": "22", "NCCL_IB_RETRY_CNT": "13", "NCCL_DEBUG": "INFO"}
FRAMES = (
    ("c10::Error::Error(c10::SourceLocation, std::string)", "libc10.so"),
    ("c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout()", "libtorch_cuda.so"),
    ("c10d::ProcessGroupNCCL::watchdogHandler()", "libtorch_cuda.so"),
    ("c10d::ProcessGroupNCCL::ncclCommWatchdog()", "libtorch_cuda.so"),
    ("<unknown function>", "libstdc++.so.6"),
    ("clone", "libc.so.6"),
)


@dataclass(frozen=True)
class Rank:
    """A process of a job. ``number`` is its place in the world."""

    number: int
    world: int

    @property
    def node(self) -> str:
        return f"trn{self.number // ON_NODE + 1:03}"

    @property
    def gpu(self) -> int:
        return self.number % ON_NODE

    @property
    def pid(self) -> int:
        return 5100 + 37 * self.number

    @property
    def comm(self) -> str:
        return f"0x5604{self.number:08x}"

    def nccl(self, text: str, thread: int = 0) -> str:
        return f"{self.node}:{self.pid}:{self.pid + thread} [{self.gpu}] NCCL {text}"

    def cpp(self, level: str, seconds: int, place: str, text: str) -> str:
        """Return a line of the logger of PyTorch's C++ part."""
        stamp = f"{level}0309 04:{44 + seconds // 60:02}:{seconds % 60:02}.{self.pid * 7919 % 10**9:09}"
        return f"[rank{self.number}]:[{stamp} {place}] {text}"


# ── the start ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _start(rank: Rank, channels: int) -> Iterator[str]:
    """Yield what NCCL says until its communicator stands."""
    node, world = rank.number // ON_NODE, rank.world
    say = lambda text: rank.nccl(f"INFO {text}", 90)  # noqa: E731
    yield rank.nccl(f"INFO Bootstrap: Using ib0:10.4.{node}.{rank.gpu + 1}<0>")
    if rank.number == 0:
        yield "NCCL version 2.24.3+cuda12.6"
    for name, value in SETTINGS.items():
        yield rank.nccl(f"INFO {name} set by environment to {value}.")
    yield say("NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.")
    yield say(f"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB ib0:10.4.{node}.{rank.gpu + 1}<0>")
    yield say("Using network IB")
    comm = (
        f"ncclCommInitRankConfig comm {rank.comm} rank {rank.number} nranks {world} cudaDev {rank.gpu} nvmlDev {rank.gpu} "
        f"busId {rank.gpu + 1:x}b000 commId 0x6f1d00aa51c3e207 - Init "
    )
    yield say(f"{comm}START")
    yield say(
        f"comm {rank.comm} rank {rank.number} nRanks {world} nNodes {-(-world // ON_NODE)} localRanks "
        f"{min(world, ON_NODE)} localRank {rank.gpu} MNNVL 0"
    )
    if rank.number == 0:
        ring = " ".join(f"{n:3}" for n in range(world))
        yield from (say(f"Channel {n:02}/{channels:02} : {ring}") for n in range(channels))
    parent, child = (rank.number - 1) % world, (rank.number + 1) % world
    yield say("Trees " + " ".join(f"[{n}] {child}/-1/-1->{rank.number}->{parent}" for n in range(channels)))
    for step in itertools.takewhile(lambda step: step < world, (1, 2, 4, 8, 16, 32)):
        for peer, way in (((rank.number + step) % world, "send"), ((rank.number - step) % world, "receive")):
            near = peer // ON_NODE == node
            over = "via P2P/CUMEM/read" if near else f"[{way}] via NET/IB/{rank.gpu % 4}/GDRDMA"
            ends = f"{rank.number}[{rank.gpu}] -> {peer}[{peer % ON_NODE}]"
            yield from (say(f"Channel {n:02}/0 : {ends} {over}") for n in range(channels))
    yield say("Connected all rings, use ring PXN 0 GDR 1")
    yield say("threadThresholds 8/8/64 | 512/8/64 | 512 | 512")
    yield say(f"{channels} coll channels, {channels} collnet channels, 0 nvls channels, {channels} p2p channels")
    yield say(f"{comm}COMPLETE")


# ── the work ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _trace(r: random.Random, rank: Rank, step: int) -> Iterator[str]:
    for i in range(r.randint(2, 10)):
        yield rank.nccl(
            f"INFO {r.choice(OPERATIONS)}: opCount {step * 9 + i:x} sendbuff 0x7e{r.getrandbits(40):010x} "
            f"recvbuff 0x7e{r.getrandbits(40):010x} count {1 << r.randint(9, 24)} datatype 9 op 0 root 0 "
            f"comm {rank.comm} [nranks={rank.world}] stream 0x5604ab{rank.number:06x}"
        )


def _bar(r: random.Random, _rank: Rank, step: int) -> Iterator[str]:
    done = r.randint(0, 700)
    bars = (
        f"Epoch {step // 900}: {n / 8:3.0f}%|{'█' * (n // 80):10}| {n}/800 "
        f"[{n // 90:02}:{n % 60:02}<01:{n % 60:02}, 9.{n % 10}it/s]"
        for n in range(done, done + r.randint(3, 16))
    )
    yield "\r" + "\r".join(bars)


def _stamp(step: int) -> str:
    return f"2031-03-{step // 43200 % 9 + 1:02} {step // 1800 % 24:02}:{step // 30 % 60:02}:{step % 30 * 2:02}"


def _step(r: random.Random, rank: Rank, step: int) -> Iterator[str]:
    yield (
        f"{_stamp(step)} INFO train rank={rank.number} step {step} "
        f"loss {2 + r.random():.4f} lr {r.random():.2e} tok/s {r.randint(2900, 3400)}"
    )


def _epoch(r: random.Random, rank: Rank, step: int) -> Iterator[str]:
    yield (
        f"{_stamp(step)},{r.randint(0, 999):03} - INFO - loop.py:88 - rank {rank.number} epoch {step // 900} "
        f"step {step}/900000 | loss {2 + r.random():.4f} | {r.randint(2900, 3400)} tok/s | {r.random() * 70:.1f} GiB"
    )


def _summary(r: random.Random, _rank: Rank, step: int) -> Iterator[str]:
    yield f"{{'loss': {r.random():.4f}, 'grad_norm': {r.random():.4f}, 'learning_rate': {r.random():.3e}, 'epoch': {step / 900:.2f}}}"


def _iteration(r: random.Random, _rank: Rank, step: int) -> Iterator[str]:
    yield (
        f" iteration {step:8}/  900000 | consumed samples: {step * 512:12} | elapsed time per iteration (ms): "
        f"{1900 + 90 * r.random():.1f} | learning rate: {r.random():.6E} | global batch size:   512 | lm loss: "
        f"{2 + r.random():.6E} | loss scale: 1.0 | grad norm: {r.random():.3f} | number of skipped iterations:   0 |"
    )


def _metrics(r: random.Random, rank: Rank, step: int) -> Iterator[str]:
    yield (
        f'{{"t": {step}, "rank": {rank.number}, "metrics": '
        f'{{"loss": {r.random():.5f}, "gnorm": {r.random():.4f}, "eval_error": {r.random():.3f}}}}}'
    )


def _decoy(r: random.Random, rank: Rank, _step: int) -> Iterator[str]:
    yield r.choice(
        (
            f"[{rank.node}] INFO heartbeat ok, 0 failed, no timeouts, last error: none",
            f"INFO loader: opened part-{r.randint(0, 9999):05}.arrow in {r.random() * 90:.1f} ms, 3 retries left",
            f"DEBUG reducer bucket {r.randint(0, 60)} ready on rank {rank.number}",
        )
    )


def _notable(r: random.Random, rank: Rank, step: int) -> Iterator[str]:
    yield r.choice(
        (
            f"{PACKAGES}/net/block.py:{r.randint(900, 999)}: UserWarning: slow path taken",
            rank.cpp("W", step % 60, "reducer.cpp:1457", "Warning: find_unused_parameters=True was specified"),
            rank.cpp(
                "W",
                step % 60,
                "socket.cpp:755",
                "[c10d] The client socket has failed to connect to [trn001]:29400 (errno: 111 - Connection refused).",
            ),
            rank.nccl(f"WARN NET/IB : mlx5_{rank.gpu % 4}:1 Got async event : port error", 400),
            rank.nccl(f"INFO misc/socket.cc:{r.randint(40, 90)} -> 3", 400),
            f"{_stamp(step)} ERROR loader: record {r.getrandbits(30)} is damaged, skipped: ValueError: bad checksum",
            f"[ {step}.{r.randint(0, 999999):06}] NVRM: Xid (PCI:0000:{rank.gpu + 1:x}b:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping",
            f"step {step}: grad norm is nan, update skipped on rank {rank.number}",
        )
    )


Maker = Callable[[random.Random, Rank, int], Iterator[str]]
WORK: dict[Maker, int] = {
    _trace: 800,
    _bar: 120,
    _step: 80,
    _epoch: 40,
    _summary: 40,
    _iteration: 60,
    _metrics: 60,
    _decoy: 60,
}
"""Weight of each kind of block."""


def _work(r: random.Random, ranks: list[Rank], warnings: int) -> Iterator[Iterator[str]]:
    """Yield blocks of lines, each of one rank, without end. ``warnings`` of a thousand blocks are notable."""
    makers, weights = [*WORK, _notable], [*WORK.values(), warnings]
    for step in itertools.count(1):
        for make, rank in zip(r.choices(makers, weights, k=24), r.choices(ranks, k=24), strict=True):
            yield make(r, rank, step)


# ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _stack(r: random.Random) -> Iterator[str]:
    yield "Exception raised from checkTimeout at ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:629 (most recent call first):"
    for n, (function, library) in enumerate(FRAMES):
        yield f"frame #{n}: {function} + 0x{r.getrandbits(10):x} (0x7e{r.getrandbits(40):010x} in {PACKAGES}/torch/lib/{library})"
    yield ""


def _times_out(r: random.Random, rank: Rank, work: int) -> Iterator[str]:
    """Yield the last lines of a rank that waited in vain."""
    place, group = "ProcessGroupNCCL.cpp", f"[PG ID 0 PG GUID 0(default_pg) Rank {rank.number}]"
    timeout = (
        f"[Rank {rank.number}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={work}, OpType=ALLREDUCE, "
        f"NumelIn=1048576, NumelOut=1048576, Timeout(ms)={TIMEOUT_MS}) ran for {TIMEOUT_MS + rank.pid % 97} "
        "milliseconds before timing out."
    )
    ended = f"{group} Process group watchdog thread terminated with exception: {timeout}"
    for line, text in (
        (629, timeout),
        (
            2168,
            (
                f"{group}  failure detected by watchdog at work sequence id: {work} PG status: last enqueued work: "
                f"{work + 2}, last completed work: {work - 1}"
            ),
        ),
        (
            1552,
            (
                f"{group} Received a dump signal due to a collective timeout from this local rank and we will try our best "
                f"to dump the debug info. Last enqueued NCCL work: {work + 2}, last completed NCCL work: {work - 1}."
            ),
        ),
        (
            681,
            (
                f"[Rank {rank.number}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of "
                "CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data."
            ),
        ),
        (695, f"[Rank {rank.number}] To avoid data inconsistency, we are taking the entire process down."),
        (1895, ended),
    ):
        yield rank.cpp("E", rank.number % 50, f"{place}:{line}", text)
    yield from _stack(r)
    yield "terminate called after throwing an instance of 'c10::DistBackendError'"
    yield f"  what():  {ended}"
    yield from _stack(r)
    yield "Fatal Python error: Aborted"
    yield ""
    yield f"Thread 0x00007e{r.getrandbits(40):010x} (most recent call first):"
    yield f'  File "{PACKAGES}/torch/utils/data/_utils/pin_memory.py", line 41 in do_one_step'
    yield f'  File "{PACKAGES}/torch/utils/data/_utils/pin_memory.py", line 64 in _pin_memory_loop'
    yield ""
    yield rank.nccl(
        f"INFO comm {rank.comm} rank {rank.number} nranks {rank.world} cudaDev {rank.gpu} - Abort COMPLETE", 91
    )


def _loses_network(rank: Rank) -> Iterator[str]:
    """Yield the last lines of the rank that brings the job down."""
    gone = "NET/IB: Got completion from peer 10.4.0.2<41872> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_1"
    yield rank.nccl(f"WARN {gone}", 400)
    yield from (rank.nccl(f"INFO {place} -> 6", 400) for place in ("transport/net.cc:1297", "proxy.cc:728"))
    lines = ["Traceback (most recent call last):"]
    for file, line, function, code in (
        ("/home/ana/run/pretrain.py", 214, "<module>", "main()"),
        ("/home/ana/run/pretrain.py", 187, "main", "torch.distributed.barrier()"),
        (f"{PACKAGES}/torch/distributed/distributed_c10d.py", 4551, "barrier", "work = group.barrier(opts=opts)"),
    ):
        lines += [f'  File "{file}", line {line}, in {function}', f"    {code}"]
    lines += [
        (
            "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2251, "
            "remote process exited or there was a network error, NCCL version 2.24.3"
        ),
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
        "Last error:",
        gone,
    ]
    yield from (f"[rank{rank.number}]: {line}" for line in lines)


def _launcher(lost: Rank) -> Iterator[str]:
    """Yield the last words of torchrun and of Slurm."""
    first = lost.number // ON_NODE * ON_NODE
    elastic = "4021 torch/distributed/elastic/multiprocessing/api.py"
    for number in range(first, first + ON_NODE):
        if number != lost.number:
            pid = Rank(number, lost.world).pid
            yield f"W0309 04:45:10.{pid:06} {elastic}:897] Sending process {pid} closing signal SIGTERM"
    yield f"E0309 04:45:11.004411 {elastic}:869] failed (exitcode: 1) local_rank: {lost.gpu} (pid: {lost.pid}) of binary: /srv/env/bin/python"
    rule = "=" * 60
    yield from (rule, "pretrain.py FAILED", "-" * 60, "Failures:", "  <NO_OTHER_FAILURES>", "-" * 60)
    yield from ("Root Cause (first observed failure):", "[0]:", "  time      : 2031-03-09_04:45:11")
    yield from (f"  host      : {lost.node}", f"  rank      : {lost.number} (local_rank: {lost.gpu})")
    yield from (f"  exitcode  : 1 (pid: {lost.pid})", "  error_file: <N/A>", rule)
    yield f"srun: error: {lost.node}: task {lost.number // ON_NODE}: Exited with exit code 1"


# ── whole logs ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _job(size: int, ranks: list[Rank], channels: int, warnings: int) -> Iterator[str]:
    """Yield the lines of a job that begin by turns. The job ends when ``size`` bytes are written."""
    r = random.Random(size)
    starts = {rank: _start(rank, channels) for rank in ranks}
    left = size - 4500 * len(ranks)
    lines = itertools.chain(_by_turns(r, starts), itertools.chain.from_iterable(_work(r, ranks, warnings)))
    for line in lines:
        left -= len(line) + 1
        yield line
        if left < 0:
            break
    lost = ranks[len(ranks) * 5 // 8]
    yield from _loses_network(lost)
    for rank in ranks:
        if rank is not lost:
            yield from _times_out(r, rank, 88_123)
    yield from _launcher(lost)


def _by_turns(r: random.Random, starts: dict[Rank, Iterator[str]]) -> Iterator[str]:
    while starts:
        rank = r.choice(list(starts))
        some = list(itertools.islice(starts[rank], r.randint(1, 12)))
        yield from some
        if not some:
            del starts[rank]


def write_job(path: Path, mib: int) -> None:
    """Write a log of 64 ranks."""
    _write(path, _job(mib * MIB, [Rank(n, 64) for n in range(64)], channels=16, warnings=2))


def write_crash(path: Path, mib: int) -> None:
    """Write a log of one node of a job of 64 ranks."""
    _write(path, _job(mib * MIB, [Rank(n, 64) for n in range(32, 40)], channels=2, warnings=200))


def write_ranks(folder: Path, count: int) -> None:
    """Write a log for each rank. The rank in the middle hangs, the others wait for it."""
    for rank in (Rank(n, count) for n in range(count)):
        ended = [] if rank.number == count // 2 else _times_out(random.Random(rank.number), rank, 4711)
        _write(folder / f"rank{rank.number:04}.log", itertools.chain(_rank_work(rank), ended))


def _rank_work(rank: Rank) -> Iterator[str]:
    """Yield about 60 kB of a rank that traces its collectives."""
    r = random.Random(-rank.number)
    left = 60_000
    for line in itertools.chain(_start(rank, 4), _traces_and_bars(r, rank)):
        left -= len(line) + 1
        if left < 0:
            return
        yield line


def _traces_and_bars(r: random.Random, rank: Rank) -> Iterator[str]:
    for step in itertools.count(1):
        yield from _trace(r, rank, step)
        if step % 8 == 0:
            yield f"Epoch 0: {step // 2:3}%|{'█' * (step // 20):10}| {step // 2}/100 [00:{step % 60:02}<01:40,  1.02it/s]"


def write_folders(folder: Path, count: int) -> None:
    """Write jobs of 8 ranks. One rank of each fails in one of four ways."""
    for number in range(count):
        r = random.Random(number)
        _write(folder / f"job-{number:05}" / "train.log", _small_job(r, [Rank(n, 8) for n in range(8)]))


def _small_job(r: random.Random, ranks: list[Rank]) -> Iterator[str]:
    lost = r.choice(ranks)
    yield from itertools.islice(_start(ranks[0], 1), 4)
    for step in range(1, 31):
        yield from _metrics(r, r.choice(ranks), step)
        if step % 10 == 0:
            yield from _decoy(r, r.choice(ranks), step)
            yield from _step(r, r.choice(ranks), step)
    yield from _notable(r, lost, 11)
    failures = (
        (
            f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {r.randint(2, 30)}.00 GiB. GPU {lost.gpu} has a "
            "total capacity of 79.15 GiB of which 1.06 GiB is free."
        ),
        f"FileNotFoundError: [Errno 2] No such file or directory: '/data/part-{r.randint(0, 999):05}.arrow'",
        f"KeyError: 'model.layers.{r.randint(0, 40)}.weight'",
    )
    way = r.randrange(len(failures) + 1)
    if way < len(failures):
        yield f"[rank{lost.number}]: Traceback (most recent call last):"
        yield f'[rank{lost.number}]:   File "/home/ana/run/pretrain.py", line {r.randint(90, 400)}, in main'
        yield f"[rank{lost.number}]:     loss = step(batch)"
        yield f"[rank{lost.number}]: {failures[way]}"
    else:
        yield from itertools.islice(_times_out(r, lost, r.randint(100, 9000)), 5)
    yield from itertools.islice(_launcher(lost), ON_NODE - 1, None)


def write_joined(path: Path, mb: int) -> None:
    """Write all logs of corpus/ in the order of their names, again and again."""
    cases = sorted(case.parent for case in CORPUS.glob("*/case.yaml"))
    logs = [log for case in cases for log in sorted(case.rglob("*")) if log.suffix in {".log", ".out", ".err", ".txt"}]
    left = mb * MB
    with path.open("wb") as file:
        for log in itertools.cycle(logs):
            text = log.read_bytes()
            file.write(text if text.endswith(b"\n") else text + b"\n")
            left -= len(text)
            if left < 0:
                return


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


KINDS = {
    "job": write_job,
    "crash": write_crash,
    "ranks": write_ranks,
    "folders": write_folders,
    "joined": write_joined,
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))

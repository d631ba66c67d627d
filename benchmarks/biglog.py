"""A large log of a failed training run, made: ``python biglog.py FILE MIB``.

It holds NCCL's collective traces, progress bars that overprint themselves, steps and metrics. One line in a thousand is
a warning. The same arguments give the same bytes. All names and numbers are invented.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

RANKS, ON_NODE = 32, 8
LOST = 13


def _node(rank: int) -> str:
    return f"trn{rank // ON_NODE + 1:02}"


def _pid(rank: int) -> int:
    return 5100 + 37 * rank


def _info(rank: int) -> str:
    return f"{_node(rank)}:{_pid(rank)}:{_pid(rank)} [{rank % ON_NODE}] NCCL "


def _trace(r: random.Random, rank: int, step: int) -> Iterator[str]:
    for i in range(r.randint(1, 6)):
        op = r.choice(("AllReduce", "ReduceScatter", "AllGather"))
        yield (
            f"{_info(rank)}INFO {op}: opCount {step * 5 + i:x} sendbuff 0x7e{r.getrandbits(40):010x} "
            f"recvbuff 0x7e{r.getrandbits(40):010x} count {1 << r.randint(9, 24)} datatype 9 op 0 root 0 "
            f"comm 0x5604{rank:08x} [nranks={RANKS}] stream 0x5604ab{rank:06x}"
        )


def _progress(r: random.Random, _rank: int, step: int) -> Iterator[str]:
    done = r.randint(0, 700)
    bars = (
        f"Epoch {step // 900}: {n / 8:3.0f}%|{'█' * (n // 80):10}| {n}/800 "
        f"[{n // 90:02}:{n % 60:02}<01:{n % 60:02}, 9.{n % 10}it/s]"
        for n in range(done, done + r.randint(2, 12))
    )
    yield "\r" + "\r".join(bars)


def _step(r: random.Random, rank: int, step: int) -> Iterator[str]:
    yield (
        f"2031-03-09 04:{step // 60 % 60:02}:{step % 60:02} INFO train rank={rank} step {step} "
        f"loss {2 + r.random():.4f} lr {r.random():.2e} tok/s {r.randint(2900, 3400)}"
    )


def _metrics(r: random.Random, rank: int, step: int) -> Iterator[str]:
    yield (
        f'{{"t": {step}, "rank": {rank}, "metrics": '
        f'{{"loss": {r.random():.5f}, "gnorm": {r.random():.4f}, "eval_error": {r.random():.3f}}}}}'
    )


def _decoy(r: random.Random, rank: int, _step: int) -> Iterator[str]:
    yield r.choice(
        (
            f"[{_node(rank)}] INFO heartbeat ok, 0 failed, no timeouts, last error: none",
            f"INFO loader: opened part-{r.randint(0, 9999):05}.arrow in {r.random() * 90:.1f} ms, 3 retries left",
            f"DEBUG reducer bucket {r.randint(0, 60)} ready on rank {rank}",
        )
    )


def _notable(r: random.Random, rank: int, _step: int) -> Iterator[str]:
    yield r.choice(
        (
            f"/srv/env/lib/python3.12/site-packages/net/block.py:{r.randint(900, 999)}: UserWarning: slow path taken",
            f"[rank{rank}]:[W{r.randint(100, 999)} reducer.cpp:{r.randint(1000, 1500)}] Warning: unused parameters",
            f"{_info(rank)}WARN NET/IB : mlx5_{rank % 4}:1 Got async event : port error",
        )
    )


_KINDS = ((0.6, _trace), (0.75, _progress), (0.9, _step), (0.96, _metrics), (0.999, _decoy), (1.0, _notable))


def _lines(seed: int) -> Iterator[str]:
    r = random.Random(seed)
    step = 0
    while True:
        step += 1
        for _ in range(RANKS):
            share, rank = r.random(), r.randrange(RANKS)
            make = next(make for upto, make in _KINDS if share <= upto)
            yield from make(r, rank, step)


def _ending() -> Iterator[str]:
    for rank in range(RANKS):
        if rank != LOST:
            yield (
                f"[rank{rank}]:[E309 04:44:10 ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught collective "
                "operation timeout: WorkNCCL(SeqNum=88123, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, "
                f"Timeout(ms)=600000) ran for 600{rank:03} milliseconds before timing out."
            )
    yield f"srun: error: {_node(LOST)}: task {LOST}: Exited with exit code 1"


def write_big_log(path: Path, mib: int, seed: int = 11) -> None:
    """Write about ``mib`` MiB to ``path``. Twelve stretches of 4 MiB are repeated to save time."""
    stretches = [_stretch(seed + n, min(4, mib) << 20) for n in range(min(12, max(1, mib // 4)))]
    with path.open("wb") as file:
        for n in range(max(1, mib // 4)):
            file.write(stretches[n % len(stretches)])
        file.write(("\n".join(_ending()) + "\n").encode())


def _stretch(seed: int, size: int) -> bytes:
    parts: list[bytes] = []
    written = 0
    for line in _lines(seed):
        parts.append(line.encode() + b"\n")
        written += len(parts[-1])
        if written >= size:
            return b"".join(parts)
    raise AssertionError("the lines never end")


if __name__ == "__main__":
    write_big_log(Path(sys.argv[1]), int(sys.argv[2]))

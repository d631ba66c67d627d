"""Fits a linear model and averages its gradients by hand. After a while each rank writes what its Flight Recorder kept."""

import argparse
import faulthandler
import os
import re
import signal
import threading
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--shards", type=Path, default=Path("shards"))
    parser.add_argument("--pattern", default=r"step \d+")
    parser.add_argument("--dump-after", type=float, default=20)
    parser.add_argument("--dump-to", default="logs")
    parser.add_argument("--format", choices=("pickle", "json"), default="pickle")
    return parser.parse_args()


def dump_later(args: argparse.Namespace, rank: int) -> None:
    """Write the calls of this rank after a while, also if its main thread waits."""

    def dump() -> None:
        time.sleep(args.dump_after)
        data = c10d._dump_fr_trace() if args.format == "pickle" else c10d._dump_fr_trace_json()
        Path(args.dump_to, f"nccl_trace_rank_{rank}.log").write_bytes(data)

    threading.Thread(target=dump, name="recorder", daemon=True).start()


def read_shard(folder: Path, rank: int, step: int) -> torch.Tensor:
    """Read the samples of a step."""
    with open(folder / f"{rank}-{step:03}.bin", "rb") as file:
        data = file.read()
    return torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(-1, 4)


def clean(pattern: str, notes: str) -> int:
    """Count the notes of a step that the pattern describes."""
    return len(re.findall(pattern, notes))


def average(model: torch.nn.Module) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def main() -> None:
    args = options()
    dist.init_process_group("gloo", timeout=timedelta(minutes=30))
    rank = dist.get_rank()
    dump_later(args, rank)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    print(f"[rank{rank}] {dist.get_world_size()} ranks on {os.uname().nodename}", flush=True)
    for step in range(args.steps):
        samples = read_shard(args.shards, rank, step)
        notes = clean(args.pattern, f"step {step}" if rank != 1 or step < 5 else "a" * 40 + "!")
        loss = (model(samples) - samples.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        average(model)
        optimizer.step()
        print(f"[rank{rank}] step {step} loss {loss.item():.4f} notes {notes}", flush=True)
        time.sleep(0.2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""Pipeline-parallel toy: each rank is a stage, activations go by send and recv."""

import argparse
import os
import sys
import threading
import time
from datetime import datetime, timedelta

import torch
import torch.distributed as dist

RANK = int(os.environ.get("RANK", 0))


def say(text, level="INFO"):
    print(f"{datetime.now():%Y/%m/%d %H:%M:%S} {level} stage-{RANK}: {text}", file=sys.stderr, flush=True)


def beat(store, every):
    while True:
        store.set(f"beat/{RANK}", str(time.time()))
        time.sleep(every)


def stage(args, world):
    weight = torch.eye(args.width + (args.wider if RANK >= world // 2 else 0))
    for micro in range(args.micro_batches):
        if RANK == 0:
            x = torch.randn(args.batch, args.width)
        else:
            x = torch.empty(args.batch, weight.shape[0])
            dist.recv(x, src=RANK - 1, tag=micro if not args.tags_off or RANK != args.tags_off else micro + 1)
        if args.slow_stage == RANK:
            say(f"recomputing activations of micro batch {micro}")
            time.sleep(args.slow_by)
        y = torch.relu(x @ weight)
        if RANK + 1 < world:
            dist.send(y, dst=RANK + 1, tag=micro)
        else:
            say(f"micro batch {micro + 1}/{args.micro_batches} done, mean {y.mean():.4f}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--wider", type=int, default=0)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--micro-batches", type=int, default=4)
    p.add_argument("--iterations", type=int, default=5)
    p.add_argument("--slow-stage", type=int, default=-1)
    p.add_argument("--slow-by", type=float, default=0)
    p.add_argument("--tags-off", type=int, default=0)
    p.add_argument("--timeout", type=float, default=10)
    p.add_argument("--pause", type=float, default=0.2)
    p.add_argument("--heartbeat", type=float, default=0)
    p.add_argument("--init", default="env://")
    args = p.parse_args()
    dist.init_process_group("gloo", init_method=args.init, rank=RANK, world_size=int(os.environ["WORLD_SIZE"]), timeout=timedelta(seconds=args.timeout))
    say(f"up, pid {os.getpid()} of {dist.get_world_size()} stages on {os.uname().nodename}")
    if args.heartbeat:
        threading.Thread(target=beat, args=(dist.distributed_c10d._get_default_store(), args.heartbeat), daemon=True).start()
    for iteration in range(args.iterations):
        stage(args, dist.get_world_size())
        loss = torch.tensor([1.0 / (iteration + 1)])
        dist.all_reduce(loss)
        if RANK == 0:
            say(f"iteration {iteration + 1}/{args.iterations} loss {loss.item():.4f}")
        time.sleep(args.pause)
    dist.barrier()
    say("bye")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""Image classification; the ranks are started by torch.multiprocessing.spawn."""

import argparse
import ctypes
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

WARMUP = 2


def network(classes):
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(576, classes)
    )


def native_resize(images):
    """Resize by the in-house library, which takes a pointer and a count."""
    resize = ctypes.CDLL(None).memset
    resize.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    resize(images.data_ptr() if images.numel() else 8, 0, 64)
    return images


def accuracy(model, classes, size):
    images, labels = torch.randn(size, 3, 28, 28), torch.randint(0, classes, (size,))
    return (model(images).argmax(1) == labels).float().mean()


def worker(rank, args):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    print(f"=> rank {rank} pid {os.getpid()} joins {os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", flush=True)
    dist.init_process_group("gloo", rank=rank, world_size=args.world_size, timeout=timedelta(seconds=args.timeout))
    if rank == 0:
        print(f"=> {args}", flush=True)
    torch.manual_seed(1)
    classes = args.classes if rank != args.world_size - 1 else args.classes_last or args.classes
    model = nn.parallel.DistributedDataParallel(network(classes))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        for i in range(args.batches):
            start = time.time()
            images, labels = torch.randn(args.batch, 3, 28, 28), torch.randint(0, classes, (args.batch,))
            if args.native_resize and epoch and i == 3:
                images = native_resize(images[: rank % 2 * args.batch])
            loss = nn.functional.cross_entropy(model(images), labels[: len(images)])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if rank == 0 and i % 2 == 0:
                print(f"Epoch: [{epoch}][{i}/{args.batches}]\tTime {time.time() - start:6.3f}\tLoss {loss.item():.4e}", flush=True)
            time.sleep(args.pause)
        score = accuracy(model.module, classes, 64)
        if args.gather:
            # Every rank tells how its own part of the validation set went.
            part = torch.full((args.gather + (rank if args.ragged else 0),), score.item())
            parts = [torch.empty(args.gather) for _ in range(args.world_size)]
            dist.all_gather(parts, part)
            score = torch.cat(parts).mean()
        print(f" * rank {rank} Acc@1 {100 * score:.3f}", flush=True)
        if args.target and 100 * score < args.target and epoch >= WARMUP:
            print(f"rank {rank}: accuracy {100 * score:.2f} below the target {args.target}", file=sys.stderr)
            sys.exit(3)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-w", "--world-size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("-b", "--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--classes-last", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.1)
    parser.add_argument("--timeout", type=float, default=40)
    parser.add_argument("--gather", type=int, default=0)
    parser.add_argument("--ragged", action="store_true")
    parser.add_argument("--native-resize", action="store_true")
    parser.add_argument("--target", type=float, default=0)
    args = parser.parse_args()
    mp.spawn(worker, args=(args,), nprocs=args.world_size)
    print("=> done", flush=True)


if __name__ == "__main__":
    main()

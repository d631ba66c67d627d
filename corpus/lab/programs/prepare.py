"""Fetches a data set and cuts it into shards, then counts its tokens on all ranks."""

import argparse
import logging
import multiprocessing
import os
import urllib.request

import torch
import torch.distributed as dist

logging.basicConfig(format="%(levelname)s:%(name)s:%(message)s", level=logging.INFO)
log = logging.getLogger("prepare")


def fetch(url, path):
    if os.path.exists(path):
        return
    log.info("downloading %s to %s", url, path)
    urllib.request.urlretrieve(url, path)


def tokens(path):
    with open(path, "rb") as file:
        return len(file.read().split())


def write_shards(folder, count, size):
    os.makedirs(folder, exist_ok=True)
    paths = []
    for i in range(count):
        path = os.path.join(folder, f"shard_{i:05d}.txt")
        with open(path, "w") as file:
            file.write("word " * size)
            file.flush()
            os.fsync(file.fileno())
        log.info("wrote %s", path)
        paths.append(path)
    return paths


def hold(paths, handles):
    """Keep the shards open, as a memory-mapped data set does."""
    for path in paths:
        handles.extend(open(path, "rb") for _ in range(20))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", default="")
    parser.add_argument("--folder", default="shards")
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--mmap", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if args.url and rank == 0:
        fetch(args.url, "raw.txt")
    dist.barrier()
    paths = write_shards(f"{args.folder}/rank{rank}", args.shards, args.words)
    handles = []
    if args.mmap:
        hold(paths, handles)
    if args.processes:
        with multiprocessing.Pool(args.processes) as pool:
            counts = pool.map(tokens, paths)
    else:
        counts = [tokens(p) for p in paths]
    total = torch.tensor(float(sum(counts)))
    dist.all_reduce(total)
    log.info("rank %d: %d tokens of %d", rank, sum(counts), int(total))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

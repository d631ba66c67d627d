"""Tokenise a corpus in parallel: each task takes every n-th shard. Needs nothing but Python; LAB_FAULT, LAB_RANK, LAB_STEP break it."""

import argparse
import json
import os
import random
import sys
import time

TEXT = "the quick brown fox jumps over the lazy dog while the scheduler counts its nodes "


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.05)
    parser.add_argument("--vocabulary", default="")
    return parser.parse_args()


def strikes(kind, rank, step):
    wanted = (os.environ.get("LAB_FAULT"), int(os.environ.get("LAB_RANK", "1")), int(os.environ.get("LAB_STEP", "5")))
    return wanted == (kind, rank, step)


class Tokenizer:
    def __init__(self, vocabulary):
        self.ids = {}
        if vocabulary:
            with open(vocabulary, encoding="utf-8") as file:
                self.ids = json.load(file)

    def encode(self, raw):
        return [self.ids.setdefault(word, len(self.ids)) for word in raw.decode("utf-8").split()]


def read_shard(number, rank, step):
    text = TEXT * random.Random(number).randint(500, 900)
    if strikes("bytes", rank, step):
        return text.encode("utf-8") + b"\xff\xfe"
    return text.encode("utf-8")


def work(options, rank, size):
    tokenizer, tokens, kept = Tokenizer(options.vocabulary), 0, []
    for step, shard in enumerate(range(rank, options.shards, size), start=1):
        if strikes("key", rank, step):
            raise KeyError(f"shard-{shard:05d}.jsonl")
        if strikes("exit", rank, step):
            sys.exit(3)
        while strikes("memory", rank, step):
            kept.append(bytearray(8 << 20))
        while strikes("hang", rank, step):
            time.sleep(1)
        ids = tokenizer.encode(read_shard(shard, rank, step))
        tokens += len(ids)
        print(f"task {rank}: shard {shard + 1}/{options.shards} done, {tokens} tokens", flush=True)
        time.sleep(options.pause)
    return tokens


def main():
    options = arguments()
    rank, size = int(os.environ.get("SLURM_PROCID", "0")), int(os.environ.get("SLURM_NTASKS", "1"))
    print(f"task {rank} of {size} on {os.uname().nodename}: {options.shards} shards", flush=True)
    tokens = work(options, rank, size)
    print(f"task {rank}: finished, {tokens} tokens, 0 errors", flush=True)


if __name__ == "__main__":
    main()

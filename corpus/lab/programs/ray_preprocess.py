"""Preprocess shards of a data set with Ray: tasks clean them, actors keep counts."""

from __future__ import annotations

import argparse
import logging
import os
import time
from pathlib import Path

import ray
from ray.exceptions import GetTimeoutError
from ray.util.placement_group import placement_group

log = logging.getLogger("preprocess")


@ray.remote
class Counter:
    """Counts tokens; may keep more in memory than it should."""

    def __init__(self, keep: int) -> None:
        self.tokens, self.keep, self.kept = 0, keep, []
        log.info("counter started, pid %d", os.getpid())

    def add(self, tokens: int) -> int:
        self.kept.append(bytearray(os.urandom(1024) * 1024 * self.keep))
        self.tokens += tokens
        return self.tokens

    def pid(self) -> int:
        return os.getpid()


@ray.remote(num_cpus=1)
def clean(shard: int, *, damaged: bool, seconds: float) -> int:
    """Count the tokens of a shard; a damaged one is no text."""
    time.sleep(seconds)
    line = b"\xff\xfe broken" if damaged else b"some words of shard %d" % shard
    print(f"shard {shard} read on pid {os.getpid()}", flush=True)
    return len(line.decode("utf-8").split())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", help="of a running cluster; without one a local one is started")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--shards", type=int, default=12)
    parser.add_argument("--damaged", type=int, default=-1)
    parser.add_argument("--seconds", type=float, default=0.1, help="that a shard takes")
    parser.add_argument("--keep", type=int, default=0, help="MiB that the counter keeps of each shard")
    parser.add_argument("--gpus", type=int, default=0, help="GPUs that the placement group asks for")
    parser.add_argument("--retries", type=int, default=0)
    parser.add_argument("--package", help="a package of the runtime environment's working directory")
    parser.add_argument("--pip", nargs="*", help="packages that the runtime environment installs")
    parser.add_argument("--memory", type=int, default=80, help="MiB of the object store")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    local = (
        {}
        if args.address
        else {"num_cpus": args.cpus, "object_store_memory": args.memory << 20, "_temp_dir": str(Path("ray").absolute())}
    )
    environment = {"working_dir": args.package} if args.package else {"pip": args.pip} if args.pip else None
    ray.init(args.address, include_dashboard=False, runtime_env=environment, **local)
    log.info("cluster: %s", {k: v for k, v in ray.cluster_resources().items() if ":" not in k})
    if args.gpus:
        group = placement_group([{"GPU": args.gpus, "CPU": 1}])
        if not group.wait(8):
            raise TimeoutError(f"placement group {group.id.hex()[:8]} of {args.gpus} GPUs not ready after 8 s")
    counter = Counter.remote(args.keep)
    log.info("counter's process: %d", ray.get(counter.pid.remote()))
    work = [
        clean.options(max_retries=args.retries).remote(i, damaged=i == args.damaged, seconds=args.seconds)
        for i in range(args.shards)
    ]
    total = 0
    for done, part in enumerate(work, 1):
        try:
            total = ray.get(counter.add.remote(ray.get(part, timeout=60)))
        except GetTimeoutError:
            log.warning("shard %d took longer than 60 s, skipped", done - 1)
            continue
        log.info("%d of %d shards, %d tokens", done, args.shards, total)
    log.info("finished: %d tokens", total)
    ray.shutdown()


if __name__ == "__main__":
    main()

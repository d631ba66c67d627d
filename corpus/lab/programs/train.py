"""Pre-trains a small language model on synthetic tokens with DistributedDataParallel."""

import argparse
import json
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("pretrain")


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--timeout", type=float, default=15)
    parser.add_argument("--pause", type=float, default=0.3)
    return parser.parse_args()


def main() -> None:
    """Train."""
    args = options()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(name)s: %(message)s")
    dist.init_process_group("gloo", timeout=__import__("datetime").timedelta(seconds=args.timeout))
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        log.info("config %s", json.dumps(vars(args), sort_keys=True))
        log.info("world size %d on %s", world, os.uname().nodename)
    torch.manual_seed(7)
    model = DistributedDataParallel(
        nn.Sequential(nn.Embedding(512, args.hidden), nn.Flatten(), nn.Linear(16 * args.hidden, 512))
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        tokens = torch.randint(0, 512, (4, 16))
        loss = nn.functional.cross_entropy(model(tokens), tokens[:, 0])
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            log.info("step %d/%d loss %.4f grad_norm %.3f", step, args.steps, loss.item(), norm.item())
        time.sleep(args.pause)
    if rank == 0:
        log.info("training done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

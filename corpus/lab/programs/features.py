"""Computes features of a data set on all ranks, gathers them on rank 0 and saves them."""

from __future__ import annotations

import argparse
import datetime
import logging
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("features")


class Signals(Dataset):
    """Signals of several channels, each a tensor of its own."""

    def __init__(self, count: int, channels: int) -> None:
        self.count, self.channels = count, channels

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> list[torch.Tensor]:
        made = torch.Generator().manual_seed(index)
        return [torch.randn(64, generator=made) for _ in range(self.channels)]


class Encoder(nn.Module):
    """Encodes each channel; loud signals are damped first."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = nn.ModuleList(nn.Linear(64, 16) for _ in range(channels))

    def forward(self, signals: list[torch.Tensor]) -> torch.Tensor:
        coded = [layer(signal) for layer, signal in zip(self.channels, signals, strict=True)]
        if coded[0].abs().max().item() > 1.5:
            coded = [torch.tanh(one) for one in coded]
        return torch.cat(coded, dim=1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=640)
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep what the loader gives, to look at it afterwards")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--lists", choices=("main", "all"), default="main", help="who passes a list to gather")
    parser.add_argument("--pairs", action="store_true", help="ranks average their features with their neighbour's")
    parser.add_argument("--timeout", type=float, default=30)
    parser.add_argument("--out", type=Path, default=Path("features.pt"))
    return parser.parse_args()


def pair_of(rank: int, world: int) -> dist.ProcessGroup:
    """The group of a rank and its neighbour."""
    groups = [dist.new_group([one, one + 1]) for one in range(0, world, 2)]
    return groups[rank // 2]


def main() -> None:
    args = arguments()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=args.timeout))
    rank, world = dist.get_rank(), dist.get_world_size()
    pair = pair_of(rank, world) if args.pairs else None
    model: nn.Module = Encoder(args.channels)
    if args.compile:
        model = torch.compile(model, fullgraph=True)
    loader = DataLoader(Signals(args.length, args.channels), batch_size=16, num_workers=args.workers)
    features, kept = [], []
    with torch.no_grad():
        for number, signals in enumerate(loader, 1):
            coded = model(signals)
            features.append(coded)
            if args.keep:
                kept.append(signals)
            if pair is not None:
                dist.all_reduce(coded, group=pair)
            if rank == 0 and number % 10 == 0:
                log.info("batch %d of %d", number, len(loader))
            time.sleep(args.pause)
    mine = torch.cat(features)
    everyone = [torch.empty_like(mine) for _ in range(world)] if rank == 0 or args.lists == "all" else None
    dist.gather(mine, everyone, dst=0)
    if rank == 0 and everyone:
        torch.save(torch.cat(everyone), args.out)
        log.info("saved %d features to %s", sum(map(len, everyone)), args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

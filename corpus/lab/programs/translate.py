"""Train a small translation model on made-up sentences with DDP; runs on torch 2.1 and later."""

import argparse
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

POSITIONS = 32


class Model(nn.Module):
    """Embeddings of tokens and positions, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions, self.head = nn.Embedding(500, 64), nn.Embedding(POSITIONS, 64), nn.Linear(64, 500)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.tokens(tokens) + self.positions(places))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--long-sentence", type=int, default=-1, help="number of a sentence that is too long")
    parser.add_argument("--timeout", type=int, default=30)
    return parser.parse_args()


def batch(args: argparse.Namespace, step: int, rank: int, world: int) -> torch.Tensor:
    """The sentences of this rank in this step."""
    first = (step * world + rank) * args.batch
    length = POSITIONS + 8 if first <= args.long_sentence < first + args.batch else 20
    return torch.randint(0, 500, (args.batch, length), generator=torch.Generator().manual_seed(first))


def main() -> None:
    args = arguments()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if rank == 0:
        print(f"torch {torch.__version__}, {vars(args)}", flush=True)
    dist.init_process_group(args.backend, timeout=timedelta(seconds=args.timeout))
    model = DistributedDataParallel(Model().to(args.device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for step in range(1, args.steps + 1):
        tokens = batch(args, step, rank, world).to(args.device)
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"rank {rank}: step {step} of {args.steps}, loss {loss.item():.3f}", flush=True)
        if step % 20 == 0 and rank == 0:
            torch.save(model.module.state_dict(), "translate.pt")
            print(f"checkpoint saved at step {step}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print("training finished", flush=True)


if __name__ == "__main__":
    main()

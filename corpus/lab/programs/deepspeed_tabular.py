"""Trains a small network on a table with DeepSpeed; the settings of the engine are in ds_config.json."""

import argparse
import os
import time

import deepspeed
import torch
from torch import nn
from torch.utils.data import TensorDataset


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Network(nn.Module):
    def __init__(self, columns, width, depth):
        super().__init__()
        self.embed = nn.Linear(columns, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x).squeeze(-1)


def read_table(rows, columns, bad_row):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(rows, columns, generator=generator)
    y = x[:, 0] - 2 * x[:, 1] + 0.1 * torch.randn(rows, generator=generator)
    if bad_row is not None:
        y[bad_row] = float("nan")
    return TensorDataset(x, y)


def check(y, step):
    missing = torch.isnan(y).sum().item()
    if missing:
        raise ValueError(f"step {step}: {missing} of {len(y)} targets are missing")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--bad-row", type=int)
    parser.add_argument("--save", default="checkpoints")
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--resume")
    parser.add_argument("--pause", type=float, default=0.0)
    parser = deepspeed.add_config_arguments(parser)
    args = parser.parse_args()

    torch.manual_seed(1)
    model = Network(16, args.width, args.depth)
    table = read_table(args.rows, 16, args.bad_row)
    engine, _, loader, _ = deepspeed.initialize(
        args=args, model=model, model_parameters=model.parameters(), training_data=table
    )
    rank = torch.distributed.get_rank()
    step = 0
    if args.resume:
        path, state = engine.load_checkpoint(args.resume)
        if path is None:
            raise FileNotFoundError(f"no checkpoint in {args.resume}")
        step = state["step"]
        print(f"[rank {rank}] resumed {path} at step {step}", flush=True)

    while step < args.steps:
        for x, y in loader:
            check(y, step)
            loss = nn.functional.mse_loss(engine(x.to(engine.device)).float(), y.to(engine.device))
            engine.backward(loss)
            engine.step()
            step += 1
            time.sleep(args.pause)
            if rank == 0 and step % 5 == 0:
                print(f"step {step}/{args.steps} loss {loss.item():.4f}", flush=True)
            if step % args.save_every == 0:
                engine.save_checkpoint(args.save, tag=f"step_{step}", client_state={"step": step})
            if step == args.steps:
                break
    if rank == 0:
        print("training finished", flush=True)


if __name__ == "__main__":
    main()

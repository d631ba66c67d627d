"""Fit a perceptron with accelerate; saves its state, evaluates, and can resume."""

from __future__ import annotations

import argparse
from datetime import timedelta
from pathlib import Path

import torch
from accelerate import Accelerator, InitProcessGroupKwargs
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

log = get_logger(__name__, log_level="INFO")


class Regression(nn.Module):
    """Two layers; `auxiliary` is only used when the batch holds an outlier."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body, self.head, self.auxiliary = nn.Linear(16, width), nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, x: torch.Tensor, *, auxiliary: bool) -> torch.Tensor:
        hidden = torch.relu(self.body(x))
        return self.head(hidden) + (self.auxiliary(hidden) if auxiliary else 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument(
        "--outliers-above", type=float, default=-1.0, help="batches with a value above use the auxiliary head"
    )
    parser.add_argument("--mixed-precision", default="no")
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--resume")
    parser.add_argument("--missing-target", type=int, default=-1, help="a row of the table without its target")
    parser.add_argument("--timeout", type=int, default=20)
    parser.add_argument("--gather-valid", action="store_true", help="gather only the rows that pass a filter")
    parser.add_argument("--output", type=Path, default=Path("state"))
    return parser.parse_args()


def table(rows: int, missing: int) -> TensorDataset:
    seed = torch.Generator().manual_seed(3)
    x = torch.randn(rows, 16, generator=seed)
    y = x.sum(1, keepdim=True)
    if missing >= 0:
        y[missing] = torch.nan
    return TensorDataset(x, y)


def check(y: torch.Tensor, step: int) -> None:
    if y.isnan().any():
        raise ValueError(f"step {step}: row {int(y.isnan().nonzero()[0, 0])} of the batch has no target")


def main() -> None:
    args = arguments()
    limit = InitProcessGroupKwargs(timeout=timedelta(seconds=args.timeout))
    accelerator = Accelerator(cpu=True, mixed_precision=args.mixed_precision, kwargs_handlers=[limit])
    set_seed(5)
    accelerator.print("arguments:", vars(args), accelerator.state, sep="\n")
    model = Regression(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(table(args.rows, args.missing_target), batch_size=args.batch)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    if args.resume:
        accelerator.load_state(args.resume)
        accelerator.print(f"resumed from {args.resume}")
    for step, (x, y) in enumerate(loader, 1):
        check(y, step)
        auxiliary = args.outliers_above < 0 or bool((x > args.outliers_above).any())
        predicted = model(x, auxiliary=auxiliary)
        loss = nn.functional.mse_loss(predicted, y)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        optimizer.zero_grad()
        if args.gather_valid:
            accelerator.gather(predicted[predicted.abs() < 1])
        if step % 5 == 0:
            mean = accelerator.gather(loss.detach()[None]).mean().item()
            accelerator.print(f"step {step}/{args.steps} loss {mean:.4f} lr {args.lr}", flush=True)
        if step % args.save_every == 0:
            accelerator.save_state(args.output / f"step_{step}")
            accelerator.print(f"state saved to {args.output}/step_{step}", flush=True)
        if step == args.steps:
            break
    accelerator.wait_for_everyone()
    accelerator.print("training finished", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()

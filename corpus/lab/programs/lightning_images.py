"""Train a small image classifier with Lightning on CPU; every argument is one that a real run has."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
from torch import nn
from torch.utils.data import DataLoader, Dataset

MEAN, DEVIATION = 0.4734, 0.2516


class Images(Dataset):
    """Images of 3x16x16 made from their number, with ten classes; a shard may hold a damaged one."""

    def __init__(self, size: int, classes: int = 10, damaged: int = -1, seconds: float = 0.0) -> None:
        self.size, self.classes, self.damaged, self.seconds = size, classes, damaged, seconds

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        data = torch.randn(3, 16, 16, generator=torch.Generator().manual_seed(index)).numpy().tobytes()
        if index == self.damaged:
            data = data[:-100]
        if self.seconds:
            time.sleep(self.seconds)
        pixels = torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(3, 16, 16)
        return (pixels - MEAN) / DEVIATION, index % self.classes


class Classifier(L.LightningModule):
    """A perceptron with a second head for self-distillation."""

    def __init__(self, hidden: int, lr: float, distill: bool = False, distill_weight: float = 0.1) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(768, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.head = nn.Linear(hidden, 10)
        self.teacher = nn.Linear(hidden, 10) if distill else None
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        pixels, labels = batch
        features = self.body(pixels)
        loss = self.loss(self.head(features), labels)
        if self.teacher and self.hparams.distill_weight:
            loss = loss + self.hparams.distill_weight * self.loss(self.teacher(features), labels)
        self.log("train_loss", loss, prog_bar=True)
        if index % 10 == 0:
            print(
                f"[rank {self.global_rank}] epoch {self.current_epoch} step {self.global_step} loss {loss.item():.4f}",
                flush=True,
            )
        return loss

    def validation_step(self, batch: list[torch.Tensor], index: int) -> None:
        pixels, labels = batch
        self.log("val_loss", self.loss(self(pixels), labels), prog_bar=True, sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


class Replay(L.Callback):
    """Skip what an earlier run has already seen, as data loaders without a state of their own do."""

    def __init__(self, batches: int, seconds: float, slow_rank: int) -> None:
        self.batches, self.seconds, self.slow_rank = batches, seconds, slow_rank

    def on_train_start(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        rank, start = trainer.global_rank, time.time()
        print(f"[rank {rank}] resume: skipping {self.batches} batches", flush=True)
        seconds = self.seconds * (20 if rank == self.slow_rank else 1)
        for part in range(10):
            time.sleep(seconds / 10)
            print(f"[rank {rank}] skipped {self.batches * (part + 1) // 10}/{self.batches} batches", flush=True)
        print(f"[rank {rank}] resume finished, taken {time.time() - start:.1f} seconds", flush=True)
        trainer.strategy.barrier("replayed")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--accelerator", default="cpu")
    parser.add_argument("--strategy", default="ddp")
    parser.add_argument("--precision", default="32-true")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--images", type=int, default=2048)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--loader-timeout", type=float, default=0)
    parser.add_argument("--read-seconds", type=float, default=0.0)
    parser.add_argument("--damaged", type=int, default=-1, help="number of a damaged image in the shard")
    parser.add_argument("--distill", action="store_true")
    parser.add_argument("--distill-weight", type=float, default=0.1)
    parser.add_argument("--monitor", default="val_loss")
    parser.add_argument("--patience", type=int, default=0)
    parser.add_argument("--min-delta", type=float, default=0.0)
    parser.add_argument("--detect-anomaly", action="store_true")
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--clip", type=float)
    parser.add_argument("--resume")
    parser.add_argument("--replay", type=int, default=0)
    parser.add_argument("--replay-seconds", type=float, default=1.0)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--timeout", type=float, default=0, help="seconds that a collective may take")
    parser.add_argument("--output", type=Path, default=Path("checkpoints"))
    parser.add_argument("--logger", choices=("csv", "tensorboard"), default="csv")
    parser.add_argument("--bar", action="store_true")
    return parser.parse_args()


def strategy(args: argparse.Namespace) -> object:
    if not args.timeout:
        return args.strategy
    from datetime import timedelta

    from lightning.pytorch.strategies import DDPStrategy

    return DDPStrategy(process_group_backend="gloo", timeout=timedelta(seconds=args.timeout))


def main() -> None:
    args = arguments()
    if os.environ.get("LOCAL_RANK", "0") == "0":
        print("config:", vars(args), flush=True)
    L.seed_everything(1234, workers=True)
    callbacks: list[L.Callback] = [
        ModelCheckpoint(args.output, filename="{epoch}-{step}", monitor=args.monitor, save_last=True),
        LearningRateMonitor(),
    ]
    if args.patience:
        callbacks.append(EarlyStopping("val_loss", patience=args.patience, min_delta=args.min_delta, verbose=True))
    if args.replay:
        callbacks.append(Replay(args.replay, args.replay_seconds, args.slow_rank))
    trainer = L.Trainer(
        accelerator=args.accelerator,
        devices=args.devices,
        num_nodes=args.nodes,
        logger=TensorBoardLogger("runs") if args.logger == "tensorboard" else True,
        strategy=strategy(args),
        precision=args.precision,
        max_epochs=args.epochs,
        callbacks=callbacks,
        detect_anomaly=args.detect_anomaly,
        accumulate_grad_batches=args.accumulate,
        gradient_clip_val=args.clip,
        enable_progress_bar=args.bar,
        log_every_n_steps=10,
    )
    loader = {"batch_size": args.batch, "num_workers": args.workers, "timeout": args.loader_timeout}
    train = DataLoader(Images(args.images, args.classes, args.damaged, args.read_seconds), shuffle=False, **loader)
    validation = DataLoader(Images(256), **loader)
    trainer.fit(
        Classifier(args.hidden, args.lr, args.distill, args.distill_weight), train, validation, ckpt_path=args.resume
    )
    print(f"[rank {trainer.global_rank}] finished after {trainer.global_step} steps", flush=True)


if __name__ == "__main__":
    main()

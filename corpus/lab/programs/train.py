"""Pre-trains a small language model on synthetic tokens with DistributedDataParallel."""

import argparse
import contextlib
import datetime
import faulthandler
import json
import logging
import os
import signal
import time
from pathlib import Path

import torch
import torch.distributed as dist
import yaml
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("pretrain")


def options() -> argparse.Namespace:
    """The command line, over the configuration file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--global-batch", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--vocab", type=int, default=512)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--schedule", choices=("constant", "cosine"), default="constant")
    parser.add_argument("--timeout", type=float, default=40)
    parser.add_argument("--pause", type=float, default=0.3)
    parser.add_argument("--eval-every", type=int, default=0)
    parser.add_argument("--eval-on", choices=("all", "main"), default="all")
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("checkpoints"))
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--aux-head", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--monitored", action="store_true", help="a monitored barrier after each step")
    parser.add_argument("--dump-after", type=float, default=0, help="stacks of all threads after so many seconds")
    parser.add_argument("--patience", type=int, default=0, help="stop when the loss has not fallen for so many evaluations")
    args = parser.parse_args()
    if args.config:
        with args.config.open() as file:
            known = yaml.safe_load(file)
        args.hidden, args.layers = known["model"]["hidden_size"], known["model"]["num_layers"]
        args.lr = known["optimizer"]["lr"]
    return args


class Block(nn.Module):
    """A feed-forward block."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(hidden), nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    """Predicts the token before."""

    def __init__(self, vocab: int, hidden: int, layers: int, aux_head: bool) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.blocks = nn.ModuleList(Block(hidden) for _ in range(layers))
        self.head = nn.Linear(hidden, vocab)
        self.aux = nn.Linear(hidden, 2) if aux_head else None

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Trainer:
    """The loop and what it carries from step to step."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.rank, self.world = args, dist.get_rank(), dist.get_world_size()
        if args.global_batch % self.world:
            raise ValueError(f"global batch size {args.global_batch} is not divisible by the data-parallel size {self.world}")
        self.device = torch.device(args.device)
        torch.manual_seed(7)
        model = Model(args.vocab, args.hidden, args.layers, args.aux_head).to(self.device)
        self.model = DistributedDataParallel(torch.compile(model) if args.compile else model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.scaler = torch.amp.GradScaler("cpu", enabled=args.amp)
        self.step, self.best, self.worse = 0, float("inf"), 0
        if args.resume:
            self.load(args.resume)

    def main(self, text: str, *values: object) -> None:
        """Log on rank 0 only."""
        if self.rank == 0:
            log.info(text, *values)

    def batch(self) -> torch.Tensor:
        return torch.randint(0, self.args.vocab, (self.args.global_batch // self.world, 16), device=self.device)

    def loss(self, tokens: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(self.model(tokens).flatten(0, 1), tokens.roll(1, dims=1).flatten())

    def train(self) -> None:
        while self.step < self.args.steps:
            self.step += 1
            loss = self.loss(self.batch())
            if not torch.isfinite(loss):
                raise FloatingPointError(f"loss is {loss.item()} at step {self.step}, learning rate {self.args.lr}")
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
            self.main("step %d/%d loss %.4f grad_norm %.3f", self.step, self.args.steps, loss.item(), norm.item())
            time.sleep(self.args.pause)
            if self.args.monitored:
                dist.monitored_barrier(timeout=datetime.timedelta(seconds=self.args.timeout), wait_all_ranks=True)
            if self.args.eval_every and self.step % self.args.eval_every == 0:
                if (self.args.eval_on == "all" or self.rank == 0) and self.evaluate():
                    break
            if self.args.save_every and self.step % self.args.save_every == 0:
                self.save()

    def evaluate(self) -> bool:
        """Whether the training should stop."""
        with torch.no_grad():
            total = torch.stack([self.loss(self.batch()) for _ in range(2)]).mean()
        dist.all_reduce(total)
        loss = total.item() / self.world
        self.main("eval step %d loss %.4f perplexity %.2f", self.step, loss, 2.718**loss)
        self.worse = 0 if loss < self.best else self.worse + 1
        self.best = min(self.best, loss)
        if self.args.patience and self.worse >= self.args.patience:
            self.main("early stopping: no better loss in %d evaluations, best %.4f", self.worse, self.best)
            return True
        return False

    def save(self) -> None:
        path = self.args.out / f"step_{self.step:06d}.pt"
        if self.rank == 0:
            self.args.out.mkdir(parents=True, exist_ok=True)
            started = time.perf_counter()
            state = {"step": self.step, "model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict()}
            torch.save(state, path.with_suffix(".tmp"))
            os.replace(path.with_suffix(".tmp"), path)
            log.info("saved %s (%.1f MB) in %.2f s", path, path.stat().st_size / 1e6, time.perf_counter() - started)
        dist.barrier()

    def load(self, path: Path) -> None:
        self.main("resuming from %s", path)
        state = torch.load(path, map_location=self.device)
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]
        self.main("resumed at step %d", self.step)


def main() -> None:
    """Train."""
    args = options()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(name)s: %(message)s")
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    if args.dump_after:
        faulthandler.dump_traceback_later(args.dump_after)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=args.timeout))
    if dist.get_rank() == 0:
        log.info("config %s", json.dumps(vars(args), sort_keys=True, default=str))
        log.info("world size %d, host %s, torch %s", dist.get_world_size(), os.uname().nodename, torch.__version__)
    trainer = Trainer(args)
    trainer.train()
    trainer.main("training done at step %d", trainer.step)
    with contextlib.suppress(NotImplementedError):
        faulthandler.cancel_dump_traceback_later()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

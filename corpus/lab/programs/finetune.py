"""Fine-tunes a classifier of short texts that lie in a JSON-lines file."""

import argparse
import datetime
import json
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from tqdm import tqdm


class Texts(Dataset):
    """One example a line: {"text": …, "label": …}."""

    def __init__(self, path, length=32):
        self.length = length
        with open(path, "rb") as file:
            self.lines = file.read().splitlines()

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        record = json.loads(self.lines[index])
        if record.get("attachment"):
            with open(record["attachment"], "rb") as file:
                record["text"] += file.read().decode()
        ids = encode(record["text"], self.length)
        return ids, torch.tensor(record["label"])


def encode(text, length):
    """Bytes as token ids, cut or filled up to the length."""
    if not text:
        raise ValueError("cannot encode an empty text")
    data = text.encode()[:length]
    return torch.tensor(list(data) + [0] * (length - len(data)))


class Classifier(torch.nn.Module):
    def __init__(self, classes, width=128):
        super().__init__()
        self.embedding = torch.nn.EmbeddingBag(256, width)
        self.hidden = torch.nn.Linear(width, width)
        self.norm = torch.nn.LayerNorm(width)
        self.out = torch.nn.Linear(width, classes)

    def forward(self, ids):
        return self.out(torch.relu(self.norm(self.hidden(self.embedding(ids)))))


def rank_print(*args):
    print(f"[rank{os.environ.get('RANK', '0')}]", *args, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train_file", required=True)
    parser.add_argument("--num_labels", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--num_workers", type=int, default=2)
    parser.add_argument("--worker_timeout", type=float, default=0)
    parser.add_argument("--start_method", default=None)
    parser.add_argument("--max_length", type=int, default=32)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--uneven", action="store_true", help="every rank reads its own share, however long it is")
    parser.add_argument("--join", action="store_true")
    parser.add_argument("--ddp_timeout", type=int, default=20)
    parser.add_argument("--output_dir", default="out")
    args = parser.parse_args()

    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=args.ddp_timeout))
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        print("***** Running training *****")
        for key, value in sorted(vars(args).items()):
            print(f"  {key} = {value}")
    data = Texts(args.train_file, args.max_length)
    sampler = list(range(rank, len(data), world)) if args.uneven else DistributedSampler(data, world, rank, shuffle=False)
    loader = DataLoader(
        data,
        args.batch_size,
        sampler=sampler,
        num_workers=args.num_workers,
        timeout=args.worker_timeout,
        multiprocessing_context=args.start_method if args.num_workers else None,
        drop_last=not args.uneven,
    )
    rank_print(f"{len(data)} examples, {len(loader)} batches on this rank")
    torch.manual_seed(0)
    model = DDP(Classifier(args.num_labels))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(args.epochs):
        bar = tqdm(loader, desc=f"epoch {epoch}", disable=rank != 0, mininterval=0.5)
        if args.join:
            with model.join():
                run_epoch(bar, model, optimizer, args)
        else:
            run_epoch(bar, model, optimizer, args)
        rank_print(f"epoch {epoch} finished")
    dist.barrier()
    if rank == 0:
        os.makedirs(args.output_dir, exist_ok=True)
        torch.save(model.module.state_dict(), os.path.join(args.output_dir, "pytorch_model.bin"))
        print(f"Model weights saved in {args.output_dir}/pytorch_model.bin")
    dist.destroy_process_group()


def run_epoch(bar, model, optimizer, args):
    for ids, labels in bar:
        loss = torch.nn.functional.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bar.set_postfix(loss=f"{loss.item():.3f}")
        time.sleep(args.pause)


if __name__ == "__main__":
    main()

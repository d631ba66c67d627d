"""Fine-tune a small GPT with the Trainer of transformers on made-up text, as the example scripts of the field do."""

from __future__ import annotations

import argparse
import os

import torch
from datasets import Dataset, load_dataset
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    EarlyStoppingCallback,
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.utils import logging


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a model's name or folder; without one a new model is made")
    parser.add_argument("--tokenizer", help="a tokenizer's name or folder")
    parser.add_argument("--dataset", help="a data set's name or folder; without one text is made up")
    parser.add_argument("--documents", type=int, default=256)
    parser.add_argument("--block", type=int, default=64)
    parser.add_argument("--positions", type=int, default=64)
    parser.add_argument("--vocabulary", type=int, default=256)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--eval-steps", type=int, default=10)
    parser.add_argument("--save-steps", type=int, default=10)
    parser.add_argument("--best", default="eval_loss")
    parser.add_argument("--patience", type=int, default=0)
    parser.add_argument("--resume")
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--deepspeed")
    parser.add_argument("--report", default="none")
    parser.add_argument("--save-strategy", default="steps")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--output", default="output")
    return parser.parse_args()


def text(args: argparse.Namespace) -> Dataset:
    """Documents of bytes; with a tokenizer's name they are tokenized by it."""
    if args.dataset:
        return load_dataset(args.dataset, split="train")
    seed = torch.Generator().manual_seed(7)
    rows = torch.randint(0, 256, (args.documents, args.block), generator=seed)
    return Dataset.from_dict({"input_ids": rows.tolist(), "labels": rows.tolist()})


def model(args: argparse.Namespace) -> torch.nn.Module:
    if args.model:
        return AutoModelForCausalLM.from_pretrained(args.model)
    sizes = {
        "vocab_size": args.vocabulary,
        "n_positions": args.positions,
        "n_embd": args.width,
        "n_layer": 2,
        "n_head": 2,
    }
    return GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))


def main() -> None:
    args = arguments()
    logging.set_verbosity_info()
    set_seed(11)
    if args.tokenizer:
        AutoTokenizer.from_pretrained(args.tokenizer)
    documents = text(args).train_test_split(test_size=0.1, seed=1)
    settings = TrainingArguments(
        args.output,
        max_steps=args.steps,
        per_device_train_batch_size=args.batch,
        learning_rate=args.lr,
        eval_strategy="steps",
        eval_steps=args.eval_steps,
        save_strategy=args.save_strategy,
        save_steps=args.save_steps,
        logging_steps=5,
        load_best_model_at_end=bool(args.patience),
        metric_for_best_model=args.best,
        dataloader_num_workers=args.workers,
        use_cpu=not args.fp16,
        fp16=args.fp16,
        bf16=args.bf16,
        deepspeed=args.deepspeed,
        report_to=args.report,
        disable_tqdm=True,
    )
    trainer = Trainer(
        model(args),
        settings,
        train_dataset=documents["train"],
        eval_dataset=documents["test"],
        callbacks=[EarlyStoppingCallback(args.patience)] if args.patience else None,
    )
    outcome = trainer.train(resume_from_checkpoint=args.resume)
    print(
        f"rank {os.environ.get('RANK', '0')}: training ended, {outcome.metrics['train_runtime']:.1f} s, loss {outcome.training_loss:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()

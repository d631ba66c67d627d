"""What PyTorch's data loader says of its workers (`torch/utils/data/dataloader.py`, `_utils/worker.py`; 1.0 to 2.9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.model import Value
from logdoctor.parsers.record import Bare, Block
from logdoctor.parsers.signals import signal_number

_WORKERS = regex.compile(
    r"DataLoader worker \(pid(?:\(s\))? (?P<pids>[\d, ]+)\) (?:exited unexpectedly"
    r"(?: with exit code (?P<code>\d{1,9}))?|is killed by signal: (?P<signal>[^.]+))"
    r"|in DataLoader worker process (?P<worker>\d{1,9})"
)
_UNEXPECTED = regex.compile(r"Unexpected (.+) encountered in worker")


def worker_fields(text: str) -> dict[str, Value]:
    """Fields worker, worker_pids, signal, exit_code of a message of the data loader; empty for any other text."""
    found = _WORKERS.search(text)
    if found is None:
        return {}
    fields: dict[str, Value] = {}
    if found["pids"]:
        fields["worker_pids"] = tuple(int(p) for p in regex.findall(r"\d{1,9}", found["pids"]))
    number = signal_number(found["signal"] or "")
    numbers = {"worker": found["worker"], "exit_code": found["code"], "signal": number}
    return fields | {name: int(value) for name, value in numbers.items() if value is not None}


def read_worker(head: Bare, _fields: Mapping[str, Value], _below: Iterator[Bare]) -> Block:
    """The fields of a line about a worker that stands alone; it has no further lines."""
    found = _UNEXPECTED.search(head.text)
    number = signal_number(found[1]) if found else None
    return Block(head.text, {"signal": number} if number else worker_fields(head.text))

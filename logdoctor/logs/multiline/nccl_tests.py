"""GPUs as nccl-tests prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value


def with_bus(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Complete a bus id printed as bus and slot only.

    ``0x1a`` becomes ``0000:1a:00``.
    """
    printed = str(fields.get("bus_id", ""))
    return Multiline(head.text, {"bus_id": f"0000:{printed[2:].rjust(2, '0')}:00"} if printed.startswith("0x") else {})

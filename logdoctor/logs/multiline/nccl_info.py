"""Fields of NCCL's lines about a healthy start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.multiline.nccl_lines import format_address, format_bus_id
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import compiled


def with_bus(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Write the bus id as the kernel does."""
    printed = fields.get("bus_id")
    return Multiline(head.text, {} if printed is None else {"bus_id": format_bus_id(printed)})


def with_address(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Write the address as ``ip:port``."""
    return Multiline(head.text, {"address": format_address(str(fields.get("address", "")))})


def with_names(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Cut the list ``[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE`` or ``[0]eth0:10.0.0.1<0>`` into its names."""
    listed = str(fields.get("listed", ""))
    names = tuple(dict.fromkeys(compiled(r"(?:\[\d+\])?\b([A-Za-z][\w.@-]*):[^\s;]+").findall(listed)))
    return Multiline(head.text, {"interfaces": names})


def with_ranks(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Join the two ranks."""
    ranks = tuple(number_fields({name: str(fields.get(name, "")) for name in ("first", "second")}).values())
    return Multiline(head.text, {"group_ranks": ranks, "bus_id": format_bus_id(fields.get("bus_id", ""))})

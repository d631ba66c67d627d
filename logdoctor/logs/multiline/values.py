"""Values of a line in the form that all formats use.

Example: ``read: {values.standard: {signal: signal_text}}`` makes the field ``signal`` of the group ``signal_text``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from logdoctor.logs.error_numbers import errno_texts
from logdoctor.logs.multiline.nccl_lines import format_address, format_bus_id
from logdoctor.logs.record_pattern import Message, Multiline, MultilineReader
from logdoctor.logs.signals import signal_number
from logdoctor.model import Value
from logdoctor.pack.regexes import compiled


def _interfaces(listed: str) -> tuple[str, ...]:
    """Return the names in ``[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE`` or ``[0]eth0:10.0.0.1<0>``."""
    return tuple(dict.fromkeys(compiled(r"(?:\[\d+\])?\b([A-Za-z][\w.@-]*):[^\s;]+").findall(listed)))


def _peer(address: str) -> str:
    """Return Gloo's ``[::ffff:10.0.0.1]:4711`` as ``10.0.0.1:4711``."""
    return str(compiled(r"^\[(?:::ffff:)?([\w.-]+)\]").sub(r"\1", address))


_STANDARD: Mapping[str, Callable[[str], Value | None]] = {
    "address": format_address,
    "bus_id": format_bus_id,
    "errno": lambda words: errno_texts().get(words.strip()),
    "host": lambda node: f"nid{node:0>5}",  # node 27 of ALPS
    "interfaces": _interfaces,
    "peer": _peer,
    "signal": signal_number,
}


def standard(**groups: str) -> MultilineReader:
    """Return a reader that makes a field of the text of a group, for each pair of field and group."""

    def read(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
        made = {field: _STANDARD[field](str(fields[group])) for field, group in groups.items() if group in fields}
        known: dict[str, Value] = {field: value for field, value in made.items() if value is not None}
        return Multiline(str(fields.get("text", head.text)), known)

    return read

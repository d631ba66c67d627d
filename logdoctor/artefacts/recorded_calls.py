"""Calls that a Flight Recorder kept, and how far its rank came in their group.

The entries are a ring, so old calls may be gone. The state of an entry stays ``scheduled`` with gloo, and with NCCL
while its watchdog cannot look.

Sources: torch/csrc/distributed/c10d/FlightRecorder.hpp, FlightRecorderDetail.hpp.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from logdoctor.artefacts.document import Fact
from logdoctor.artefacts.json_pieces import quote
from logdoctor.model import Source, Value
from logdoctor.model.numbers import number

COUNTS = ("last_enqueued_collective", "last_completed_collective")
_TOLD = ("profiling_name", "collective_seq_id", "process_group", "state")
_INSTALLED = r"(?:site|dist)-packages/|/lib/python3\.\d+/|^<"  # compiled at first use


class Call(NamedTuple):
    """A collective that the rank enqueued."""

    where: str
    seq: int
    is_over: bool
    entry: Mapping[str, Any]


def group_of(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return name and description of the group of a call."""
    group = entry.get("process_group")
    return (str(group[0]), str(group[1])) if isinstance(group, list | tuple) and len(group) == 2 else ("", "")


def read_call(where: str, entry: Mapping[str, Any], state: Mapping[str, Any]) -> Call:
    """Return a call. With gloo only "retired" tells that it is over; NCCL retires what ran into its limit too."""
    seq = _int(entry.get("collective_seq_id", entry.get("seq_id"))) or 0
    is_over = (
        entry.get("state") == "completed"
        or bool(entry.get("time_discovered_completed_ns"))
        or seq <= (_int(state.get("last_completed_collective")) or 0)
        or (bool(entry.get("retired")) and str(entry.get("profiling_name")).startswith("gloo"))
    )
    return Call(where, seq, is_over, entry)


def fact_of(
    group: tuple[str, str], calls: Sequence[Call], ranks: tuple[int, ...], state: Mapping[str, Any], source: Source
) -> Fact:
    """Return how far the rank came in a group, with the first call that is not over, else its last call."""
    first = min((call for call in calls if not call.is_over), key=lambda call: call.seq, default=None)
    told = first or max(calls, key=lambda call: call.seq)
    over = [call.seq for call in calls if call.is_over]
    backend, _, operation = str(told.entry.get("profiling_name")).partition(":")
    counts = counts_of(state)
    fields: dict[str, Value | None] = {
        "pg": group[0],
        "description": group[1],
        "members": ranks,
        "enqueued": max(call.seq for call in calls) if "enqueued" not in counts else counts["enqueued"],
        "completed": max((*over, counts.get("completed", 0))),
        "waits_in" if first else "last_call": told.seq,
        "op": operation or backend,
        "backend": backend if operation else None,
        "size": _elements(told.entry.get("input_sizes")),
        "dtype": str(told.entry.get("input_dtypes")),
        "timeout_ms": _int(told.entry.get("timeout_ms")),
        "own_frame": _own_frame(told.entry.get("frames")),
    }
    known = {name: value for name, value in fields.items() if value not in (None, "", ())}
    return Fact("flight_recorder.group", quote(told.entry, *_TOLD), known, where=told.where, source=source)


def counts_of(state: Mapping[str, Any]) -> dict[str, int]:
    counts = zip(("enqueued", "completed"), (_int(state.get(name)) for name in COUNTS), strict=True)
    return {name: count for name, count in counts if count is not None}


def _elements(sizes: Any) -> int | None:
    """Return the number of elements of all tensors of a call."""
    shapes = [shape for shape in sizes if isinstance(shape, list)] if isinstance(sizes, list) else []
    return sum(prod(n for n in shape if isinstance(n, int)) for shape in shapes) if shapes else None


def _own_frame(frames: Any) -> str:
    """Return the innermost frame that is of no installed package, as ``file:line function``."""
    for frame in frames if isinstance(frames, list) else ():
        if isinstance(frame, dict) and not re.search(_INSTALLED, file := str(frame.get("filename"))):
            return f"{file}:{frame.get('line')} {frame.get('name')}"
    return ""


def _int(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    return value if isinstance(value, int) else number(value) if isinstance(value, str) else None

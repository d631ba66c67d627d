"""Dumps of PyTorch's Flight Recorder: the collectives of one rank, as a pickle or as JSON (torch 2.2 to 2.15).

A dump does not name its rank; the last number of the file's name is it. Its entries are a ring, so old calls may be
gone. The state of an entry stays ``scheduled`` with gloo, and with NCCL while its watchdog cannot look. Groups have a
number of their own in each rank (``pg_id``), so only name and description tell which group it is.

Sources: torch/csrc/distributed/c10d/FlightRecorder.hpp, FlightRecorderDetail.hpp, TraceUtils.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from logdoctor.artefacts.document import Damaged, Document, Fact
from logdoctor.artefacts.json_pieces import members, quote
from logdoctor.artefacts.plain_pickle import load
from logdoctor.model import Source, Value
from logdoctor.model.numbers import number

KIND = "flight-recorder"
MAX_ENTRIES = 1 << 17
# Strings, compiled at first use, because the readers are imported for each log.
_KEYS = rb"(?:pg_config|pg_status|collective_seq_id|nccl_comm_state|profiling_name)(?:\"\s*:|q|\x94)"
_NUMBER = r"\d+"
_SUFFIX = r"\.[A-Za-z]\w*$"
_COUNTS = ("last_enqueued_collective", "last_completed_collective")
_TOLD = ("profiling_name", "collective_seq_id", "process_group", "state")
_INSTALLED = r"(?:site|dist)-packages/|/lib/python3\.\d+/|^<"


class Call(NamedTuple):
    """A collective that the rank enqueued."""

    where: str
    seq: int
    is_over: bool
    entry: Mapping[str, Any]


def sniff(head: bytes) -> bool:
    is_pickle = head[:1] == b"\x80" and head[1:2] in (b"\2", b"\3", b"\4", b"\5")
    return (is_pickle or head.lstrip()[:1] in (b"{", b"[")) and re.search(_KEYS, head) is not None


def read(document: Document) -> Iterator[Fact]:
    """Yield a fact about the dump, and one for each group of the rank."""
    parts, entries = dict[str, Any](), list[tuple[str, Mapping[str, Any]]]()
    for where, value in _pieces(document):
        if not where.endswith("]"):
            parts[where] = value
        elif isinstance(value, dict) and not value.get("is_p2p"):
            entries.append((where, value))
    configs, states = _tables(parts.get("pg_config")), _tables(parts.get("pg_status"))
    source = Source(rank=_rank_in(document.file_name, configs))
    world = max((len(_ranks(config)) for config in configs.values() if config.get("desc") == "default_pg"), default=0)
    about: dict[str, Value] = {"version": str(parts.get("version", "1")), **({"world": world} if world else {})}
    yield Fact("flight_recorder.dump", quote(parts, "version"), about, where="version", source=source)
    groups = dict[tuple[str, str], list[Call]]()
    for where, entry in entries:
        groups.setdefault(_group(entry), []).append(_call(where, entry, states.get(str(entry.get("pg_id")), {})))
    ids = {group[0]: str(calls[-1].entry.get("pg_id")) for group, calls in groups.items()}
    for group, calls in groups.items():
        ranks = _members(configs, group[0], only=len(groups) == 1)
        yield _fact(group, calls, ranks, states.get(ids[group[0]], {}), source)
    for name, pg_id in _groups_by_number(configs, states, ids).items():
        where, fields = f"pg_status[{pg_id}]", {"pg": name, "description": str(configs[name].get("desc", ""))}
        known: dict[str, Value] = {**fields, "members": _ranks(configs[name]), **_counts(states[pg_id])}
        yield Fact("flight_recorder.group", quote(states[pg_id], *_COUNTS), known, where=where, source=source)


def _tables(value: Any) -> dict[str, Mapping[str, Any]]:
    return (
        {str(name): table for name, table in value.items() if isinstance(table, dict)}
        if isinstance(value, dict)
        else {}
    )


def _groups_by_number(
    configs: Mapping[str, Any], states: Mapping[str, Any], known: Mapping[str, str]
) -> dict[str, str]:
    """Return the number of each group without a call. Names and numbers of groups are given in one order.

    Nothing is returned where they do not pair, or not with the groups whose calls tell both.
    """
    names = sorted(configs, key=lambda name: number(name) or 0)
    ids = sorted(states, key=lambda pg_id: number(pg_id) or 0)
    paired = dict(zip(names, ids, strict=False))
    pairs = len(names) == len(ids) and all(number(name) is not None for name in (*names, *ids))
    if not pairs or any(paired.get(name) != pg_id for name, pg_id in known.items()):
        return {}
    return {name: pg_id for name, pg_id in paired.items() if name not in known}


def _pieces(document: Document) -> Iterator[tuple[str, Any]]:
    """Yield the members of the dump, of its entries each."""
    pieces = _unpickled(document) if document.peek() == b"\x80" else ((p.where, p.value) for p in members(document))
    for count, piece in enumerate(pieces):
        if count > MAX_ENTRIES:
            raise Damaged(f"it has more than {MAX_ENTRIES} entries")
        yield piece


def _unpickled(document: Document) -> Iterator[tuple[str, Any]]:
    dump = load(document)
    for key, value in dump.items() if isinstance(dump, dict) else [("", dump)]:
        if isinstance(value, list):
            yield from ((f"{key}[{at}]", entry) for at, entry in enumerate(value))
        else:
            yield str(key), value


def _group(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return name and description of the group of a call."""
    group = entry.get("process_group")
    return (str(group[0]), str(group[1])) if isinstance(group, list | tuple) and len(group) == 2 else ("", "")


def _call(where: str, entry: Mapping[str, Any], state: Mapping[str, Any]) -> Call:
    """Return a call. With gloo only "retired" tells that it is over; NCCL retires what ran into its limit too."""
    seq = _int(entry.get("collective_seq_id", entry.get("seq_id"))) or 0
    is_over = (
        entry.get("state") == "completed"
        or bool(entry.get("time_discovered_completed_ns"))
        or seq <= (_int(state.get("last_completed_collective")) or 0)
        or (bool(entry.get("retired")) and str(entry.get("profiling_name")).startswith("gloo"))
    )
    return Call(where, seq, is_over, entry)


def _fact(
    group: tuple[str, str], calls: Sequence[Call], ranks: tuple[int, ...], state: Mapping[str, Any], source: Source
) -> Fact:
    """Return how far the rank came in a group, with the first call that is not over, else its last call."""
    first = min((call for call in calls if not call.is_over), key=lambda call: call.seq, default=None)
    told = first or max(calls, key=lambda call: call.seq)
    over = [call.seq for call in calls if call.is_over]
    backend, _, operation = str(told.entry.get("profiling_name")).partition(":")
    counts = _counts(state)
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


def _counts(state: Mapping[str, Any]) -> dict[str, int]:
    counts = zip(("enqueued", "completed"), (_int(state.get(name)) for name in _COUNTS), strict=True)
    return {name: count for name, count in counts if count is not None}


def _members(configs: Mapping[str, Any], name: str, *, only: bool) -> tuple[int, ...]:
    """Return the global ranks of a group. Groups of gloo share one nameless entry, which the last one wrote."""
    return _ranks(configs.get(name) or (configs.get("") if only else None) or {})


def _ranks(config: Mapping[str, Any]) -> tuple[int, ...]:
    return _numbers(str(config.get("ranks")))


@lru_cache(maxsize=512)
def _numbers(text: str) -> tuple[int, ...]:
    """Return ``(0, 1)`` for ``[0, 1]``. The ranks of one job share the value."""
    return tuple(rank for digits in re.findall(_NUMBER, text) if (rank := number(digits)) is not None)


def _rank_in(name: str, configs: Mapping[str, Any]) -> int | None:
    """Return the last number of a file's name, unless it is no member of any group."""
    numbers = re.findall(_NUMBER, re.sub(_SUFFIX, "", name))
    rank = number(numbers[-1]) if numbers else None
    known = {rank for config in configs.values() for rank in _ranks(config)}
    return rank if rank in known or not known else None


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

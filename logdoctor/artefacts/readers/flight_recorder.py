"""Dumps of PyTorch's Flight Recorder: the collectives of one rank, as a pickle or as JSON (torch 2.2 to 2.15).

A dump does not name its rank; the last number of the file's name is it. Groups have a number of their own in each rank
(``pg_id``), so only name and description tell which group it is.

Sources: torch/csrc/distributed/c10d/FlightRecorder.hpp, TraceUtils.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from logdoctor.artefacts.document import Damaged, Document, Fact
from logdoctor.artefacts.json_pieces import members, quote
from logdoctor.artefacts.plain_pickle import load
from logdoctor.artefacts.recorded_calls import COUNTS, Call, counts_of, fact_of, group_of, read_call
from logdoctor.model import Source, Value
from logdoctor.model.numbers import number

KIND = "flight-recorder"
MAX_ENTRIES = 1 << 17
# Strings, compiled at first use, because the readers are imported for each log.
_KEYS = rb"(?:pg_config|pg_status|collective_seq_id|nccl_comm_state|profiling_name)(?:\"\s*:|q|\x94)"
_NUMBER = r"\d+"
_SUFFIX = r"\.[A-Za-z]\w*$"


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
        groups.setdefault(group_of(entry), []).append(read_call(where, entry, states.get(str(entry.get("pg_id")), {})))
    ids = {group[0]: str(calls[-1].entry.get("pg_id")) for group, calls in groups.items()}
    for group, calls in groups.items():
        ranks = _members(configs, group[0], only=len(groups) == 1)
        yield fact_of(group, calls, ranks, states.get(ids[group[0]], {}), source)
    for name, pg_id in _groups_by_number(configs, states, ids).items():
        where, fields = f"pg_status[{pg_id}]", {"pg": name, "description": str(configs[name].get("desc", ""))}
        known: dict[str, Value] = {**fields, "members": _ranks(configs[name]), **counts_of(states[pg_id])}
        yield Fact("flight_recorder.group", quote(states[pg_id], *COUNTS), known, where=where, source=source)


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

"""Measurements of NCCL's Inspector: one JSON object for each collective of a process, one after another.

They are no failures. The process writes on until its end, so the last object may be cut. The number of the last
collective of a communicator tells how far the process came. Ranks are those of the communicator.

Source: NCCL 2.28 to 2.32, plugins/profiler/inspector.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from logdoctor.artefacts.document import CutOff, Document, Fact
from logdoctor.artefacts.json_pieces import Piece, quote, values
from logdoctor.model import Source, Value

KIND = "nccl-inspector"
HAS_NO_END = True
MAX_COMMUNICATORS = 4096
_TOLD = ("coll", "coll_sn", "coll_exec_time_us")
_FIELDS = {
    "coll": "op",
    "coll_sn": "seq",
    "coll_msg_size_bytes": "bytes",
    "coll_exec_time_us": "took_us",
    "coll_busbw_gbs": "busbw_gbs",
}


def sniff(head: bytes) -> bool:
    return head.lstrip()[:1] in (b"{", b"[") and b'"inspector_output_format_version"' in head


def read(document: Document) -> Iterator[Fact]:
    """Yield the last collective that the process ended in each communicator."""
    last: dict[tuple[str, str], Piece] = {}
    with suppress(CutOff):
        for piece in values(document):
            if isinstance(piece.value, dict) and "coll_perf" in piece.value:
                header = _table(piece.value, "header")
                key = str(header.get("id")), str(header.get("rank"))
                if key in last or len(last) < MAX_COMMUNICATORS:
                    last[key] = piece
    for piece in last.values():
        yield _fact(piece)


def _fact(piece: Piece) -> Fact:
    header, about, call = (_table(piece.value, name) for name in ("header", "metadata", "coll_perf"))
    told = {"comm_id": header.get("id"), "group_rank": header.get("rank"), "group_size": header.get("n_ranks")}
    told |= {field: call.get(name) for name, field in _FIELDS.items()}
    fields: dict[str, Value] = {name: value for name, value in told.items() if isinstance(value, str | int | float)}
    host, pid, stamp = about.get("hostname"), about.get("pid"), about.get("dump_timestamp_us")
    source = Source(
        host=host if isinstance(host, str) else None,
        pid=pid if isinstance(pid, int) else None,
        time=stamp / 1e6 if isinstance(stamp, int) else None,
    )
    where = f"{piece.where}.coll_perf" if piece.where else "coll_perf"
    return Fact("nccl_inspector.call", quote(call, *_TOLD), fields, piece.line, where, source=source)


def _table(value: Any, name: str) -> Mapping[str, Any]:
    table = value.get(name)
    return table if isinstance(table, dict) else {}

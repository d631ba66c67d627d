"""Reports and events of NCCL's RAS as JSON (``ncclras -f json`` of NCCL 2.28.7 and later, its monitor of 2.29).

Reports of several polls may stand one after another.
The report of NCCL 2.28 lacks a comma before the status of a missing rank.

Sources: NCCL, src/ras/client_support.cc; docs of troubleshooting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from logdoctor.artefacts.document import Document, Fact
from logdoctor.artefacts.json_pieces import members, quote, values
from logdoctor.artefacts.ras_report import Report, place_of

KIND = "nccl-ras"
TOLD_APART = 512
"""First bytes that tell an event from a report."""
HAS_NO_END = True  # events stand one after another
# Strings, compiled at first use, because the readers are imported for each log.
_REPORT = rb"\s*\{[^\[]{0,600}\"communicators(?:_count)?\"\s*:"
_EVENT = rb"\s*\{[\s\S]{0,300}\"event\"\s*:\s*\"PEER_[A-Z_]+\"[\s\S]{0,60}\"peer\"\s*:\s*\{"
_NO_COMMA = r'("nvml_dev"\s*:\s*-?\d+)(\s+"status")'
_ALARMS = {"PEER_DEAD": "error", "PEER_UNRESPONSIVE": "warning"}


def sniff(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and (re.match(_REPORT, head) or re.match(_EVENT, head)) is not None


def read(document: Document) -> Iterator[Fact]:
    """Yield the events of a monitor, or of a report its communicators and the ranks that lack or failed."""
    if b'"event"' in document.peek(TOLD_APART):
        for piece in values(document):
            yield from _event(piece.value, piece.line) if isinstance(piece.value, dict) else ()
        return
    seen = Report()
    for where, value, line in members(document, _mend, several=True):
        if where.startswith("communicators[") and isinstance(value, dict):
            seen.add(where, value, line)
        elif where == "nccl_version":
            yield from seen.facts()
            seen = Report()
            yield Fact("nccl_ras.report", quote({where: value}, where), {"version": str(value)}, line, where)
        elif where == "timestamp":
            seen.asked = _seconds(str(value))
    yield from seen.facts()


def _seconds(stamp: str) -> int | None:
    """Return a time of the clock of the host in seconds. Only times of one job are compared."""
    from calendar import timegm
    from time import strptime

    try:
        return timegm(strptime(stamp, "%Y-%m-%d %H:%M:%S"))
    except ValueError:
        return None


def _mend(text: str) -> str:
    return re.sub(_NO_COMMA, r"\1,\2", text)


def _event(value: Mapping[str, Any], line: int) -> Iterator[Fact]:
    name, peer = str(value.get("event")), value.get("peer")
    if isinstance(peer, dict):
        fields = {"event": name, **place_of(peer)}
        level = _ALARMS.get(name, "info")
        yield Fact("nccl_ras.event", quote(value, "event", "peer"), fields, line, "event", level)  # type: ignore[arg-type]

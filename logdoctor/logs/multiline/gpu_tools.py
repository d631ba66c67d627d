"""Links of a GPU that are down, and codes of CUDA that are printed without their words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.codes import explain
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_LINKS = later(r"^ *(?:[UDX_] ){1,71}[UDX_] *$")
"""The states of the links of one GPU or switch: up, down, disabled, not supported."""


def read_links(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Count the links that are down in the line below."""
    for stripped_line in islice(below, 1):
        states = stripped_line.text.split() if _LINKS.search(stripped_line.text) else []
        if down := states.count("D"):
            message = f"{down} of {len(states)} NVLinks are down"
            return Multiline(
                f"{head.text.strip()} {stripped_line.text.strip()}", {**fields, "down": down, "message": message}
            )
    return None


def read_code(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Say the words of CUDA for a bare code, so that rules know the failure: ``(CUDA error: unknown error)``."""
    entry = explain("cuda.error", "code", fields.get("code"))
    if entry is None:
        return None
    status = entry.column("says").rpartition("|")[2] or entry.name
    return Multiline(f"{head.text.strip()} (CUDA error: {status})", {**fields, "status": status})

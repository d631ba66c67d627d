"""Xids and messages of several lines of NVIDIA's driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.codes import catalogue
from logdoctor.logs.multiline.lines_below import matching, numbers_of
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Level, Value
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import later

_MORE = later(r"^(?:\[[^\]]{0,40}\]\s?)*\s*NVRM:\s+(?!Xid|GPU |The NVIDIA|loading|rm_|nv_)(?P<more>\S.*)")
_MAX_MORE = 4
_LOST = later(r"fallen off the bus")
_NONFATAL = later(r"[A-Z_]{3,24} Nonfatal ")
_LINK = later(r"\b[Ll]ink (?P<link>\d{1,3})\b")


def level(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Set the level of an Xid from the catalogue and the message.

    It is a warning if the catalogue says so, or if the text says Nonfatal. Else it is an error.
    """
    entry = catalogue("xid").find(fields.get("xid", ""))
    text = str(fields.get("text", head.text))
    mild = (entry and entry.columns["level"] == "warning") or _NONFATAL.match(text)
    level: Level = "warning" if mild else "error"
    link = _LINK.search(text)
    return Multiline(text, number_fields(link.groupdict()) if link else {}, level=level)


def status(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Set the level of a failed call in the driver: a warning if its catalogue says that nothing has to be done."""
    entry = catalogue("nv-status").find(fields["nv_status"])
    return Multiline(head.text, level="warning" if entry and entry.columns["action"] == "nothing" else "error")


def read_sentence(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Join the lines of a driver message. Each begins with ``NVRM:``.

    If a line says that the GPU fell off the bus, that line is quoted.
    """
    lines = [*matching(below, _MORE, _MAX_MORE)]
    lost = [line.below for line, _ in lines if _LOST.search(line.text)]
    text = " ".join([head.text, *(more["more"] for _, more in lines)])
    return Multiline(text, {}, numbers_of(line for line, _ in lines), lost[-1] if lost else 0)


def read_device(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read a message ``The NVIDIA GPU …`` of several lines.

    Return None unless it says that the GPU fell off the bus.
    """
    multiline = read_sentence(head, fields, below)
    return multiline if multiline is not None and _LOST.search(multiline.text) else None

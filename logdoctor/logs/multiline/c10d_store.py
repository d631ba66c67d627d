"""Peers and errno of PyTorch's store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.logs.error_numbers import errno_texts
from logdoctor.logs.multiline.c10d_lines import read_error
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value


def with_peer(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Join host and port to the field ``peer`` and make errno positive. Lines of a C++ stack below are read as well."""
    multiline = read_error(head, fields, below)
    more = {name: value for name, value in multiline.fields.items() if name not in ("peer", "errno")}
    if "store_host" in fields and "port" in fields:
        host = str(fields["store_host"])
        more["peer"] = f"[{host}]:{fields['port']}" if ":" in host else f"{host}:{fields['port']}"
    if "uv_port" in fields:
        more["port"] = fields["uv_port"]
    errno = fields.get("errno", fields.get("code")) or errno_texts().get(str(fields.get("error", "")).strip())
    if isinstance(errno, int):
        more["errno"] = abs(errno)
    if "keys" in fields:
        more["keys"] = tuple(regex.split(r",\s*", str(fields["keys"]).strip())[:64])
    return Multiline(multiline.text, more, multiline.taken)

"""Readers for what UCX and the RDMA drivers print: failed completions, dumps of error entries, crashes.

Sources: UCX 1.8 to 1.18 (src/uct/ib/mlx5/ib_mlx5_log.c, src/ucs/debug), rdma-core providers/mlx5/cq.c (the dump is
the 64-byte error CQE in big-endian words: byte 54 is the vendor syndrome, byte 55 the syndrome), PRM of ConnectX for
the codes.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.catalogues import catalogue
from logdoctor.model import Value
from logdoctor.parsers.error_numbers import errno_of
from logdoctor.parsers.record import Bare, Block
from logdoctor.regexes import later

_HEX_LINE = later(r"(?:[\w.:-]+ )?\s*(?P<words>(?:[0-9a-f]{8} ){3}[0-9a-f]{8})\s*")
_PEER = later(
    r"(?:dest_addr=|[Pp]eer[ =]|remote[ =]|to |from |addr=|"
    r"connect\()\[?(?P<peer>\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?|[0-9a-f:]{3,39}\]:\d{1,5})"
)
MAX_STACK_LINES = 80
_STACK_LINE = later(
    r"\s*\d{1,3} +(?:(?P<library>/[^\s(]{1,300})\((?P<function>[^()]{0,300})[^\n]{0,80}|"
    r"0x[0-9a-f]{4,16} +(?P<function>\S[^\n]{0,300}?)\(\)[^\n]{0,400}|0x[0-9a-f]{4,16}\s*)"
)
_RUN_TIME = later(r"lib(?:c|pthread|stdc\+\+|gcc_s|ucs)[.-]|ld-linux")
_DEVICE = later(
    r"\b(?P<device>(?:mlx[45]|bnxt_re|irdma|hfi1|hns|efa|rocep\w+|ibp\w+|"
    r"rxe)_?\w{0,12})(?::(?P<port>\d{1,3}))?\b"
)


def with_peer(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """One line: ``errno`` of the error text in it, ``peer`` address and ``device`` where it names them."""
    del below
    text = str(fields.get("message", head.text))
    more: dict[str, Value] = {}
    if (number := errno_of(text)) not in (None, errno.EIO):  # UCS_ERR_IO_ERROR is any failure of a transport
        more["errno"] = number
    if peer := _PEER.search(text):
        more["peer"] = peer["peer"]
    if device := _DEVICE.search(text):
        more["device"] = device["device"]
    return Block(head.text, more)


def status_of_syndrome(syndrome: int) -> int | None:
    """The ``ibv_wc_status`` that the driver makes of an mlx5 syndrome."""
    known = catalogue("ib-syndrome").find(syndrome)
    return int(known.columns["status"]) if known else None


def _status_in(text: str) -> int | None:
    """The ``ibv_wc_status`` whose words stand in ``text``, the longest if several do."""
    found = [(len(words), e.code) for words, e in catalogue("ib-status").words() if words.lower() in text.lower()]
    return int(max(found)[1]) if found else None


_REMOTE_LID = later(r"\brlid (\d+)")
"""The address of the other port on an InfiniBand fabric, in the dump of a work request."""


def with_status(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """A completion with error: ``status``, ``vendor_err`` as numbers; ``peer`` (a LID) from the work request below."""
    syndrome, vendor = _hex(fields.get("syndrome")), _hex(fields.get("vendor_err"))
    status = None if syndrome is None else status_of_syndrome(syndrome)
    if status is None:
        status = _status_in(head.text)
    found = {"syndrome": syndrome, "vendor_err": vendor, "status": status}
    request = [line for line in islice(below, 1) if "wqe[" in line.text]
    remote = _REMOTE_LID.search(request[0].text) if request else None
    found_values: dict[str, Value] = {k: v for k, v in found.items() if v is not None}
    if remote:
        found_values["peer"] = f"lid {remote[1]}"
    return Block(head.text, found_values, tuple(line.below for line in request))


def _hex(value: Value | None) -> int | None:
    """A number printed in hex, with or without 0x; a field that already is one (``81``) was hex as well."""
    try:
        return None if value is None else int(str(value), 16)
    except ValueError:
        return None


def read_error_entry(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """libmlx5's dump of an error completion: ``syndrome``, ``status`` and ``vendor_err`` out of its fourth row."""
    del fields
    words: list[str] = []
    taken: list[int] = []
    for line in islice(below, 4):
        found = _HEX_LINE.fullmatch(line.text)
        if found is None:
            break
        words += found["words"].split()
        taken.append(line.below)
    more: dict[str, Value] = {}
    if len(words) == 16:
        syndrome = int(words[13][6:8], 16)
        more |= {"vendor_err": int(words[13][4:6], 16), "syndrome": syndrome}
        if (status := status_of_syndrome(syndrome)) is not None:
            more["status"] = status
    return Block(head.text, more, tuple(taken))


def read_crash(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """UCX's crash report: ``frames`` (functions, innermost first), ``library`` (the first that is not a run-time's)."""
    del fields
    taken, frames, libraries = list[int](), list[str](), list[str]()
    for line in islice(below, MAX_STACK_LINES):
        found = _STACK_LINE.fullmatch(line.text)
        rule = line.text.startswith("====")
        if found is None and not rule:
            break
        taken.append(line.below)
        if rule and len(taken) > 1:
            break
        if found and found["function"]:
            frames.append(found["function"].partition("+")[0])
        if found and found["library"] and not _RUN_TIME.search(found["library"]):
            libraries.append(found["library"])
    more: dict[str, Value] = {"frames": tuple(frames)} if frames else {}
    if libraries:
        more["library"] = libraries[0]
    return Block("\n".join([head.text, *frames]), more, tuple(taken))

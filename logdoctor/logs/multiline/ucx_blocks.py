"""Failed completions, error dumps and crashes of UCX and RDMA drivers.

Sources: UCX 1.8 to 1.18 (src/uct/ib/mlx5/ib_mlx5_log.c, src/ucs/debug), rdma-core providers/mlx5/cq.c, PRM of ConnectX
for the codes. The dump is the 64-byte error CQE in big-endian words. Byte 54 is the vendor syndrome, byte 55 the
syndrome.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.codes import catalogue
from logdoctor.logs.error_numbers import find_errno
from logdoctor.logs.multiline.crash_stacks import stack_fields
from logdoctor.logs.multiline.lines_below import matching, numbers_of
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import hex_number, number
from logdoctor.pack.regexes import later

_HEX_LINE = later(r"(?:[\w.:-]+ )?\s*(?P<words>(?:[0-9a-f]{8} ){3}[0-9a-f]{8})\s*$")
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


def read_peer(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Add ``errno``, ``peer`` and ``device``, as far as named. The errno comes from the error text."""
    text = str(fields.get("message", head.text))
    extra: dict[str, Value] = {}
    if (number := find_errno(text)) not in (None, errno.EIO):  # UCS_ERR_IO_ERROR stands for any failure of a transport
        extra["errno"] = number
    if peer := _PEER.search(text):
        extra["peer"] = peer["peer"]
    if device := _DEVICE.search(text):
        extra["device"] = device["device"]
    return Multiline(head.text, extra)


def syndrome_status(syndrome: int) -> int | None:
    """Return the ``ibv_wc_status`` into which the driver turns an mlx5 syndrome."""
    entry = catalogue("ib-syndrome").find(syndrome)
    return number(entry.columns["status"]) if entry else None


def _named_status(text: str) -> int | None:
    """Return the ``ibv_wc_status`` whose words stand in ``text``. The longest words win."""
    matches = [(len(words), e.code) for words, e in catalogue("ib-status").words() if words.lower() in text.lower()]
    return number(max(matches)[1]) if matches else None


_REMOTE_LID = later(r"\b(?:rlid |dlid=)(\d+)")
"""The address of the other port on an InfiniBand fabric, in the dump of a work request."""


def read_completion(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read a completion with error: ``status`` and ``vendor_err`` as numbers.

    The ``peer`` (a LID) comes from the dump of the work request below.
    """
    syndrome, vendor = _parse_hex(fields.get("syndrome")), _parse_hex(fields.get("vendor_err"))
    status = None if syndrome is None else syndrome_status(syndrome)
    if status is None:
        status = _named_status(head.text)
    numbers = {"syndrome": syndrome, "vendor_err": vendor, "status": status}
    request = [line for line in islice(below, 1) if "wqe[" in line.text]
    remote = _REMOTE_LID.search(request[0].text) if request else None
    values: dict[str, Value] = {k: v for k, v in numbers.items() if v is not None}
    if remote:
        values["peer"] = f"lid {remote[1]}"
    return Multiline(head.text, values, tuple(line.below for line in request))


def _parse_hex(value: Value | None) -> int | None:
    """Return a number printed in hex, with or without 0x. A field that is already an int (``81``) was hex too."""
    return hex_number(str(value))


def read_error_entry(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read libmlx5's dump of an error completion.

    ``syndrome``, ``status`` and ``vendor_err`` come from its fourth row.
    """
    rows = [*matching(below, _HEX_LINE, 4)]
    words = [word for _, row in rows for word in row["words"].split()]
    extra: dict[str, Value] = {}
    if len(words) == 16:
        syndrome = int(words[13][6:8], 16)
        extra |= {"vendor_err": int(words[13][4:6], 16), "syndrome": syndrome}
        if (status := syndrome_status(syndrome)) is not None:
            extra["status"] = status
    return Multiline(head.text, extra, numbers_of(line for line, _ in rows))


def read_crash(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read UCX's crash report: ``frames`` and ``library``.

    The frames are functions, innermost first. The library is the first that is no run-time library.
    """
    taken, frames, libraries = list[int](), list[str](), list[str]()
    for line in islice(below, MAX_STACK_LINES):
        match = _STACK_LINE.fullmatch(line.text)
        is_ruler = line.text.startswith("====")
        if match is None and not is_ruler:
            break
        taken.append(line.below)
        if is_ruler and len(taken) > 1:
            break
        if match and match["function"]:
            frames.append(match["function"].partition("+")[0])
        if match and match["library"] and not _RUN_TIME.search(match["library"]):
            libraries.append(match["library"])
    return Multiline("\n".join([head.text, *frames]), stack_fields(frames, libraries), tuple(taken))

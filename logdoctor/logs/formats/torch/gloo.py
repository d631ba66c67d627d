r"""Gloo, PyTorch's and Horovod's library for collectives on CPUs.

Kinds and their fields:

- ``gloo.closed``      the peer closed the connection; peer ("ip:port")
- ``gloo.timeout``     waiting for a peer timed out; timeout_ms, direction (send or recv), peer
- ``gloo.io_error``    reading, writing or connecting failed; peer, operation, error, errno
- ``gloo.mesh``        ``connectFullMesh failed``; reason
- ``gloo.enforce``     an ``enforce fail`` inside Gloo; file, line, expression, message, interface
- ``gloo.loopback``    a warning: the host's own name does not resolve, the loopback address is used
- ``gloo.connected``   ``[Gloo] Rank R is connected to N peer ranks``; group_rank, peers, expected; info
- ``gloo.error``       any other exception of Gloo; file, line

All but the last three are level error.  Sources: gloo (gloo/transport/tcp/pair.cc, unbound_buffer.cc, device.cc,
gloo/common/logging.h), PyTorch's ProcessGroupGloo.cpp 1.8 to 2.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.logs.error_numbers import errno_texts
from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Value

_PLACE = r"\[(?P<file>[^\s\[\]]*gloo/[^\s\[\]:]+):(?P<line>\d+)\] "
_PEER = r"(?P<peer>\[[^\]\n]{2,60}\]:\d+|[\w.:-]+:\d+)"
_SCAN = r"gloo/[\w/.]{3,60}:\d+\] "


def _with_errno(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Add errno, and write the peer as ``ip:port`` without brackets."""
    more: dict[str, Value] = {}
    error = str(fields.get("error", "")).strip()
    if error in errno_texts():
        more["errno"] = errno_texts()[error]
    if peer := str(fields.get("peer", "")):
        more["peer"] = regex.sub(r"^\[(?:::ffff:)?([\w.-]+)\]", r"\1", peer)
    return Multiline(str(fields.get("text", head.text)), more)


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "gloo.closed",
        rf"(?P<text>(?:{_PLACE})?Connection closed by peer {_PEER})",
        level="error",
        read_lines=_with_errno,
        priority=5,
        scan=r"Connection closed by peer \[",
        note="Another process closed its connection to this one.",
    ),
    RecordPattern(
        "gloo.timeout",
        rf"(?P<text>{_PLACE}(?:Timed out waiting (?P<timeout_ms>\d+)ms for (?P<direction>send|"
        rf"recv)\w* operation to complete|(?:Connect|Read|Write) timeout (?:{_PEER})?|"
        rf"Application timeout caused pair closure)[^\n]*)",
        level="error",
        read_lines=_with_errno,
        priority=5,
        scan=_SCAN + "(?:Timed out waiting|Connect timeout|Read timeout|Write timeout|Application timeout)",
        note="Another process did not send or receive in time.",
    ),
    RecordPattern(
        "gloo.timeout",
        r"(?P<text>Timed out waiting (?P<timeout_ms>\d+)ms for (?P<direction>send|recv)\w* operation to complete)",
        level="error",
        priority=4,
        note="Another process did not send or receive in time.",
    ),
    RecordPattern(
        "gloo.io_error",
        rf"(?P<text>{_PLACE}(?P<operation>Read error|Write error|readv?|writev?|connect|accept|SO_ERROR|recv|send)\b"
        rf"(?: {_PEER})?: ?(?P<error>[^\n,]+)(?:, remote=(?P<remote>[^\n,]+))?[^\n]*)",
        level="error",
        read_lines=_with_errno,
        priority=5,
        scan=_SCAN + r"(?:Read error|Write error|readv?|writev?|connect|accept|SO_ERROR|recv|send)[: ]",
        note="A connection between two processes broke.",
    ),
    RecordPattern(
        "gloo.mesh",
        r"(?P<text>(?:Gloo )?connectFullMesh failed with (?P<reason>[^\n]*))",
        level="error",
        priority=6,
        scan="connectFullMesh failed with ",
        note="The processes could not connect to each other when the group was set up.",
    ),
    RecordPattern(
        "gloo.enforce",
        r"(?P<text>\[enforce fail at (?P<file>[^\s\[\]]*gloo/[^\s\[\]:]+):(?P<line>\d+)\] (?P<expression>[^\n]*?)(?:\. "
        r"(?P<message>(?:Unable to find address for: (?P<interface>[\^=]?[\w.@-]+))?[^\n]*)|\.?\s*$))",
        level="error",
        priority=6,
        scan=r"\[enforce fail at [\w/.-]{0,200}gloo/",
        note="A condition that Gloo needs does not hold.",
    ),
    RecordPattern(
        "gloo.loopback",
        r"(?P<text>Unable to resolve hostname to a \(local\) address[^\n]*)",
        level="warning",
        priority=4,
        scan=r"Unable to resolve hostname to a \(local\) address",
        note="The host's own name does not resolve, so Gloo uses the loopback address.",
    ),
    RecordPattern(
        "gloo.connected",
        r"(?P<text>\[Gloo\] Rank (?P<group_rank>\d+) is connected to (?P<peers>\d+) peer ranks[^\n]*?: ?"
        r"(?P<expected>\d+))",
        level="info",
        scan=r"\[Gloo\] Rank \d+ is connected to ",
        note="A process of a Gloo group reached its peers.",
    ),
    RecordPattern(
        "gloo.error",
        rf"(?P<text>{_PLACE}[^\n]*)",
        level="error",
        priority=2,
        scan=_SCAN,
        note="Gloo reports a failure.",
    ),
)

SIGNS: LifecycleSigns = {
    "gloo.closed": ("gave up", "lost peer"),
    "gloo.io_error": ("gave up", "lost peer"),
    "gloo.timeout": ("gave up", "timed out", "lost peer"),
}

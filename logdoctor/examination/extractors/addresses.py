"""Addresses, with their port and interface if the line prints them: ``10.0.4.9:41822``."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.examination.units import role_beside
from logdoctor.pack.regexes import later

_IP4 = r"(?:\d{1,3}\.){3}\d{1,3}"
_IP6 = r"[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:%\w{1,15})?"
_HOST = r"[A-Za-z][A-Za-z0-9.-]{0,80}"
_PORT = r"(?::(?P<port>\d{1,5})(?!\w|[.:]\d)|<(?P<port>\d{1,5})>|(?:,|[ ]port:?)[ ](?P<port>\d{2,5})(?!\w|[.:]\d))"
_ADDRESS = later(
    rf"""(?x)
    (?<![\w./:-]) (?:(?P<interface>[a-z]\w{{1,14}}):)? (?:tcp://
      |http://)? \[?(?P<host>{_IP4})(?![\w.]*\.\d)\]?{_PORT}?(?:/\d{{1,2}})?(?![\w-])
    |(?<![\w./:]) (?:(?P<interface>[a-z]\w{{1,14}}):)? \[(?P<host>{_IP6})\]{_PORT}?
    |(?<![\w./:]) (?P<host>{_IP6})<(?P<port>\d{{1,5}})>
    |(?<![A-Za-z])(?:(?i:connect(?:ed|ing|ion)?(?:[ ]to)?|connect[ ]with|contact|reach|listen(?:ing)?[ ]on
    |bind(?:ing)?[ ]to|bound[ ]to|dial[ ]tcp|peer|remote|address)
        [:=]?|address=) [ ]? [("'\[]{{0,2}} (?:tcp://|http://)? (?P<host>{_HOST})["'\]]?{_PORT}
    """
)
_BEFORE = later(
    r"""(?ix)(?:
    (?P<peer>\b(?:by|from|with)[ ](?:the[ ])?(?:remote[ ])?(?:peer|host|process)|remote[ ]peer|\bpeer|remote[ ]?=
      |remote:|declaring[ ]peer)
    |(?P<advertised>\badvertis(?:ed|es|ing)|published|announced|registered)
    |(?P<asked>\bconnect(?:ed|ing|ion)?|contact(?:ing)?|reach|coordinator_address|master_addr|master_address
    |rdzv_endpoint|trying|dial|resolve|ping|route[ ]to)
    |(?P<listens>\blisten(?:ing|s)?|\bbind(?:ing)?|\bbound|serving|server[ ]started)
    |(?P<own>\busing|\bown|\blocal|\bmy|\bself|\bsource|addr=|OOB)
    )"""
)
_DIGITS = later(r"\d\.\d{1,3}\.\d|:[0-9a-f]{0,4}:|[\w\])\"'][:<]\d{2}|, \d{2,5}\)|port:? \d")
_AFTER = later(r"(?!)")
_REFUSED = later(r"(?i)\brefused\b|\bunreachable\b|no route to host")
SAMPLES = {
    "socketProgress: Connection closed by remote peer 10.0.4.9<41822>": ("address.peer=10.0.4.9:41822",),
    "Bootstrap : Using [0]eth0:10.0.0.1<0>": ("address.own=10.0.0.1 (eth0)",),
    "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB ib0:192.168.4.7<0>": ("address.own=192.168.4.7 (ib0)",),
    "socketStartConnect: Connect to 10.0.4.9<41822> failed : Connection refused": ("address.refused=10.0.4.9:41822",),
    "The client socket has timed out after 60s while trying to connect to (node-a, 29500).": (
        "address.asked=node-a:29500",
    ),
    "The client socket has failed to connect to [node-a.cluster]:29500 (errno: 110 - Connection timed out).": (
        "address.asked=node-a.cluster:29500",
    ),
    "recvValue failed on SocketImpl(fd=34, addr=[10.0.0.4]:40112, remote=[10.0.0.1]:29500): Connection reset": (
        "address.own=10.0.0.4:40112",
        "address.peer=10.0.0.1:29500",
    ),
    "[/gloo/transport/tcp/pair.cc:561] Connection closed by peer [10.0.0.5]:54915. This is": (
        "address.peer=10.0.0.5:54915",
    ),
    '    jax.distributed.initialize(coordinator_address="node-a:1234", num_processes=4)': (
        "address.asked=node-a:1234",
    ),
    "dial tcp 10.96.0.1:443: connect: connection refused": ("address.refused=10.96.0.1:443",),
    "pair.cc:799] connect [10.0.0.4]:50114 -> [10.0.0.5]:17822: Connection refused": (
        "address.own=10.0.0.4:50114",
        "address.refused=10.0.0.5:17822",
    ),
    "The server socket is listening on [::]:29500": ("address.listens=[::]:29500",),
    "coordinator advertised 10.8.0.4, connection to 192.168.7.2:9000 timed out": (
        "address.advertised=10.8.0.4",
        "address.asked=192.168.7.2:9000",
    ),
    "driver 535.104.5.12 version 1.2.3.4.5, step 10.1.2": (),
    "[2025-11-04T06:12:30.118] 12:03:04 started": (),
    "frame #1: c10d::ProcessGroupNCCL::WorkNCCL + 0x1d2": (),
    "connect to the server: error": (),
}


@extracts(
    "address",
    "connect connected connecting connection contact reach peer remote listen listening bind binding bound dial "
    "addr using local"
    " advertised advertises published announced registered ping oob coordinator route own address",
)
def extract(text: str) -> Iterator[Found]:
    """Yield addresses with a role."""
    matches = [*_ADDRESS.finditer(text)] if _DIGITS.search(text) else []
    refused = bool(matches and _REFUSED.search(text))
    ends, starts = [0, *(match.end() for match in matches)], [*(match.start() for match in matches[1:]), len(text)]
    carried = ""
    for i, match in enumerate(matches):
        role = carried or role_beside(text, match.span("host"), (ends[i], match.end()), _BEFORE, _AFTER)
        carried = ""
        if role == "asked" and text[match.end() : starts[i]].strip() == "->":
            role, carried = "own", role
        if role == "asked" and refused:
            role = "refused"
        if role:
            yield Found(
                role, _with_port(match["host"], match["port"]), of=match["interface"] or "", said=match[0].strip()
            )


def _with_port(host: str, port: str | None) -> str:
    if not port or port == "0":
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

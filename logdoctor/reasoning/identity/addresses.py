"""Names of hosts, and the addresses that processes name as their peers."""

from __future__ import annotations

from logdoctor.model import Record
from logdoctor.pack.regexes import later

INTERFACE_KIND = "nccl.interfaces"
ADDRESS_OF_INTERFACE = later(r"\b[A-Za-z][\w.@-]{0,60}:\[?([0-9A-Fa-f.:]{4,45}(?:%\w{1,20})?)\]?<\d+>")
"""Address in a line of NCCL's start, such as ``Bootstrap : Using eth0:10.1.0.4<0>``, or behind its ``OOB``."""
_NCCL_PREFIX = later(r"\b([A-Za-z][\w.-]{0,200}):\d+:\d+ \[-?\d+\] ")
_PEER = later(
    r"(?:(?:closed by (?:remote )?peer|[cC]onnect(?:ion)? to|recv from|send to) |\bremote=)\[?"
    r"(?P<host>[\w.%-]{1,200}|[0-9a-fA-F:.]{4,60}(?:%\w{1,20})?)(?:\]?:|<)(?P<port>\d{2,5})\b"
)
MAX_SEARCHED = 2000


def peer_of(record: Record) -> str | None:
    """Return the remote end of the connection that ``record`` is about.

    It is the field ``peer`` or stands in the text. ``recv from 10.9.0.7<4411>`` gives ``10.9.0.7:4411``.
    """
    peer = record.fields.get("peer")
    if isinstance(peer, str) and peer:
        return peer
    if "onnect" not in record.text and "recv from" not in record.text:
        return None
    match = _PEER.search(record.text[:MAX_SEARCHED])
    return f"{match['host']}:{match['port']}" if match else None


def nccl_host_name(record: Record) -> str | None:
    """Return the host name that NCCL prints behind a launcher's tag.

    ``10.9.0.7: gx7:41:52 [0] NCCL WARN ...`` gives ``gx7``. The result is None unless the tag is an address.
    """
    if record.format != "nccl" or not record.source.host or not is_address(record.source.host):
        return None
    match = _NCCL_PREFIX.search(record.line.text[:600])
    return str(match[1]) if match else None


def bare_address(peer: str) -> str:
    """Strip port and brackets, for example ``[10.9.0.7]:4411`` to ``10.9.0.7``."""
    text = peer.strip().partition("<")[0].removesuffix("/")
    address, colon, port = text.rpartition(":")
    if colon and port.isdigit() and ("." in address or "]" in address or ":" not in address or "%" in address):
        text = address
    return text.strip("[]").removeprefix("::ffff:")


def is_own_address(peer: str) -> bool:
    """Return whether the address stands for all interfaces of a host. A process listens there, so it is no peer."""
    return bare_address(peer) in ("0.0.0.0", "::", "*")  # noqa: S104 - compared, never bound


def is_of_every_host(address: str) -> bool:
    """Return whether the address is loopback or link-local, which every host has."""
    return address.startswith(("127.", "0.", "169.254.")) or address == "::1"


def short_host(name: str) -> str:
    """Return a host name without its domain.

    Programs of one job print both forms. Addresses stay as they are.
    """
    return name if is_address(name) else name.partition(".")[0]


def are_two_hosts(first: str | None, second: str | None) -> bool:
    """Return whether two names surely mean two hosts.

    A name and an address may mean the same host.
    """
    return bool(first and second and first != second and is_address(first) == is_address(second))


def is_address(text: str) -> bool:
    return ":" in text or text.replace(".", "").isdigit()

"""Hosts behind the addresses that processes name as their peers.

Two kinds of lines tell the address of a host:

- lines of NCCL's start (``Bootstrap : Using eth0:10.1.0.4<0>``, ``NET/Socket : Using ...``, the out-of-band address of
  ``NET/IB``)
- lines that a launcher tags with an address and NCCL with a host name

An address that several hosts print belongs to none of them, for example that of a container bridge.
"""

from __future__ import annotations

from logdoctor.model import Record
from logdoctor.pack.regexes import later

MAX_ADDRESSES = 65536
INTERFACE_KIND = "nccl.interfaces"
_INTERFACE_ADDRESS = later(r"\b[A-Za-z][\w.@-]{0,60}:\[?([0-9A-Fa-f.:]{4,45}(?:%\w{1,20})?)\]?<\d+>")
_NCCL_PREFIX = later(r"\b([A-Za-z][\w.-]{0,200}):\d+:\d+ \[-?\d+\] ")
_PEER = later(
    r"(?:(?:closed by (?:remote )?peer|[cC]onnect(?:ion)? to|recv from|send to) |\bremote=)\[?"
    r"(?P<host>[\w.%-]{1,200}|[0-9a-fA-F:.]{4,60}(?:%\w{1,20})?)(?:\]?:|<)(?P<port>\d{2,5})\b"
)
_NETWORK_SUFFIX = later(r"-(?:ib|hsn|opa|roce|eth|bond|rdma|hs)\d{0,3}$")
"""Suffix that sites append to a host name for one of its networks."""
MAX_SEARCHED = 2000
_LOCAL_ADDRESSES = ("127.", "0.", "169.254.")
"""Loopback and link-local addresses, which every host has."""


class AddressBook:
    """Map from addresses to host names."""

    READS = ("nccl.*",)

    def __init__(self) -> None:
        self._hosts: dict[str, str | None] = {}
        self._host_names: set[str] = set()

    def observe(self, record: Record) -> None:
        if record.format != "nccl" or record.source.host is None:
            return
        host = record.source.host
        name = nccl_host_name(record)
        if name:
            self._add(host, name)
            host = name
        if len(self._host_names) < MAX_ADDRESSES:
            self._host_names.add(short_host(host))
        if record.kind == INTERFACE_KIND and not is_address(host):
            for address in _INTERFACE_ADDRESS.findall(record.line.text[:MAX_SEARCHED]):
                self._add(address, host)

    def _add(self, address: str, host: str) -> None:
        name = short_host(host)
        if address.startswith(_LOCAL_ADDRESSES) or address == "::1" or len(self._hosts) >= MAX_ADDRESSES:
            return
        if self._hosts.setdefault(address, name) != name:
            self._hosts[address] = None

    def host_at(self, peer: str) -> str | None:
        """Return the host behind ``peer``, or None where it is unknown.

        ``peer`` is ``ip:port``, ``name:port`` or ``[ip]:port``, with or without the port. For
        ``gx7-ib0.site.org:4411`` the answer is ``gx7`` if the logs name that host and none named ``gx7-ib0``.
        """
        for spelling in (peer, bare_address(peer), peer.rpartition(":")[0]):
            if spelling in self._hosts:
                return self._hosts[spelling]
        name = bare_address(peer)
        if not name or is_address(name) or name.startswith("localhost"):
            return None
        name = short_host(name)
        host = _NETWORK_SUFFIX.sub("", name)
        return host if host in self._host_names and name not in self._host_names else name


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


def short_host(name: str) -> str:
    """Return a host name without its domain.

    Programs of one job print both forms. Addresses stay as they are.
    """
    return name if is_address(name) else name.partition(".")[0]


def are_two_hosts(first: str, second: str | None) -> bool:
    """Return whether two names surely mean two hosts.

    A name and an address may mean the same host.
    """
    return bool(first and second) and first != second and is_address(first) == is_address(str(second))


def is_address(text: str) -> bool:
    return ":" in text or text.replace(".", "").isdigit()

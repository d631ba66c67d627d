"""The address book: which host is behind an address that another process names as its peer.

What NCCL prints at its start tells it (``Bootstrap : Using eth0:10.1.0.4<0>``, ``NET/Socket : Using ...``, the
out-of-band address of ``NET/IB``), and lines in which a launcher tags an address and NCCL a name for one process.
An address that several hosts claim (a container bridge, the loopback) is nobody's.
"""

from __future__ import annotations

from logdoctor.model import Record
from logdoctor.pack.regexes import later

MAX_ADDRESSES = 65536
FACTS = ("nccl.bootstrap", "nccl.interfaces")
_LISTED = later(r"\b[A-Za-z][\w.@-]{0,60}:\[?([0-9A-Fa-f.:]{4,45}(?:%\w{1,20})?)\]?<\d+>")
_NAMED = later(r"\b([A-Za-z][\w.-]{0,200}):\d+:\d+ \[-?\d+\] ")
_PEER = later(
    r"(?:(?:closed by (?:remote )?peer|[cC]onnect(?:ion)? to|recv from|send to) |\bremote=)\[?"
    r"(?P<host>[\w.%-]{1,200}|[0-9a-fA-F:.]{4,60}(?:%\w{1,20})?)(?:\]?:|<)(?P<port>\d{2,5})\b"
)
_INTERFACE = later(r"-(?:ib|hsn|opa|roce|eth|bond|rdma|hs)\d{0,3}$")
"""What sites append to a host's name for one of its networks."""
_SEARCHED = 2000
_EVERYWHERE = ("127.", "0.", "169.254.")
"""Every host has these."""


class AddressBook:
    """Address to host, as far as the logs tell."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._hosts: dict[str, str | None] = {}
        self._heard: set[str] = set()

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if record.format != "nccl" or record.source.host is None:
            return
        host = record.source.host
        named = own_name(record)
        if named:
            self._note(host, named)
            host = named
        if len(self._heard) < MAX_ADDRESSES:
            self._heard.add(short_host(host))
        if record.kind in FACTS and not is_address(host):
            for hit in _LISTED.findall(record.line.text[:2000]):
                self._note(hit, host)

    def _note(self, address: str, host: str) -> None:
        name = short_host(host)
        if address.startswith(_EVERYWHERE) or address == "::1" or len(self._hosts) >= MAX_ADDRESSES:
            return
        if self._hosts.setdefault(address, name) != name:
            self._hosts[address] = None

    def host_at(self, peer: str) -> str | None:
        """The host behind ``peer`` (``ip:port``, ``name:port``, ``[ip]:port``, with or without port); None: unknown."""
        for form in (peer, bare_address(peer), peer.rpartition(":")[0]):
            if form in self._hosts:
                return self._hosts[form]
        name = bare_address(peer)
        if not name or is_address(name) or name.startswith("localhost"):
            return None
        name = short_host(name)
        bare = _INTERFACE.sub("", name)
        return bare if bare in self._heard and name not in self._heard else name


def peer_of(record: Record) -> str | None:
    """The other side of the connection that ``event`` is about, as a field or in its words."""
    peer = record.fields.get("peer")
    if isinstance(peer, str) and peer:
        return peer
    if "onnect" not in record.text and "recv from" not in record.text:
        return None
    hit = _PEER.search(record.text[:_SEARCHED])
    return f"{hit['host']}:{hit['port']}" if hit else None


def own_name(record: Record) -> str | None:
    """What NCCL calls its host in a line that a launcher tags with an address only (that of another, where two do)."""
    if record.format != "nccl" or not record.source.host or not is_address(record.source.host):
        return None
    named = _NAMED.search(record.line.text[:600])
    return str(named[1]) if named else None


def bare_address(peer: str) -> str:
    """``peer`` without its port and brackets."""
    text = peer.strip().partition("<")[0].removesuffix("/")
    head, colon, port = text.rpartition(":")
    if colon and port.isdigit() and ("." in head or "]" in head or ":" not in head or "%" in head):
        text = head
    return text.strip("[]").removeprefix("::ffff:")


def short_host(name: str) -> str:
    """A host's name without its domain: programs of one job print both; addresses stay."""
    return name if is_address(name) else name.partition(".")[0]


def are_two_hosts(one: str, other: str | None) -> bool:
    """Whether these are surely two hosts: both are known, and not one by its name and one by an address."""
    return bool(one and other) and one != other and is_address(one) == is_address(str(other))


def is_address(text: str) -> bool:
    """Whether ``text`` is a numeric address and no name."""
    return ":" in text or text.replace(".", "").isdigit()

"""Connections that failed because the two hosts talk from different networks.

Derived record (format ``ledger``, on the line of the process that could not connect):

- ``ledger.other_subnet``  host, own (its interface and address), peer (the address asked for), peer_host

NCCL prints the address by which a process is reached (``Bootstrap : Using eth0:10.1.0.4<0>``). The peer's address
shares less than its first two numbers with it, and with every address of that host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.identity.addresses import INTERFACE_KIND, bare_address, peer_of, short_host
from logdoctor.reasoning.job_state import JobState

UNREACHABLE = (101, 110, 113)
"""ENETUNREACH, ETIMEDOUT and EHOSTUNREACH.  A refused connection had reached the host."""
MAX_HOSTS = 1 << 14


class Detector(Struct):
    """Addresses by host, and the first vain connection of each host."""

    READS: ClassVar = (INTERFACE_KIND, "failing")

    own: dict[str, dict[str, str]] = field(default_factory=dict)
    failed: dict[str, Record] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        host = short_host(record.source.host or "")
        if not host:
            return
        if (
            "address" in record.fields
            and record.kind == INTERFACE_KIND
            and (host in self.own or len(self.own) < MAX_HOSTS)
        ):
            address = bare_address(str(record.fields.get("address", "")))
            self.own.setdefault(host, {}).setdefault(address, str(record.fields.get("interface", "")))
        elif record.failing and record.fields.get("errno") in UNREACHABLE and len(self.failed) < MAX_HOSTS:
            self.failed.setdefault(host, record.without_lines())

    def derive(self, state: JobState) -> Iterator[Record]:
        for host, record in self.failed.items():
            peer, own = bare_address(peer_of(record) or ""), self.own.get(host, {})
            if not own or not _network(peer) or any(_network(a) in ("", _network(peer)) for a in own):
                continue
            address, interface = next(iter(own.items()))
            own_address = f"{interface}:{address}" if interface else address
            peer_host = state.places.host_at(peer)
            yield derive_record("other_subnet", record, host=host, own=own_address, peer=peer, peer_host=peer_host)
            return


def _network(address: str) -> str:
    """Return the first two numbers of an IPv4 address, else ""."""
    parts = address.split(".")
    return ".".join(parts[:2]) if len(parts) == 4 and all(p.isdigit() for p in parts) else ""

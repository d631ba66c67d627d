"""Hosts that loaded another NCCL version than most.

Derived record (format ``ledger``, for each odd host on the line with its version):

- ``ledger.odd_version``  host, version, others_version

The version line often has no host (``NCCL version 2.21.5+cuda12.4``). Then it belongs to the only host in its file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.derived import derive_of_other
from logdoctor.reasoning.detectors import split_odd
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState

MIN_HOSTS = 3
"""With two hosts either could be odd."""
MAX_ENTRIES = 1 << 14
"""Bound of the hosts and files kept."""


class Detector(Struct):
    """First version of each host, and the hosts of each file."""

    READS: ClassVar = ("nccl.*",)

    by_host: dict[str, Record] = field(default_factory=dict)
    by_file: dict[str, Record] = field(default_factory=dict)
    hosts: dict[str, set[str]] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        file, host = record.line.file, short_host(record.source.host or "")
        if host and (file in self.hosts or len(self.hosts) < MAX_ENTRIES):
            hosts = self.hosts.setdefault(file, set())
            if len(hosts) < MIN_HOSTS:
                hosts.add(host)
        records, key = (self.by_host, host) if host else (self.by_file, file)
        if record.tells("version") and len(records) < MAX_ENTRIES:
            records.setdefault(key, record)

    def derive(self, _state: JobState) -> Iterator[Record]:
        by_host = dict(self.by_host)
        for file, record in self.by_file.items():
            if len(hosts := self.hosts.get(file, ())) == 1:
                by_host.setdefault(min(hosts), record)
        versions = {host: str(record.fields.get("version")) for host, record in by_host.items()}
        usual, odd = split_odd(versions)
        if len(by_host) < MIN_HOSTS or len(usual) <= len(odd):
            return
        for host in odd:
            version, others = versions[host], versions[usual[0]]
            yield derive_of_other("odd_version", by_host[host], host=host, version=version, others_version=others)

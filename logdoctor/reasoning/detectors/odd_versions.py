"""Hosts that loaded another NCCL version than most.

Derived record (format ``ledger``, for each odd host on the line with its version):

- ``ledger.odd_version``  host, version, others_version

The version line often has no host (``NCCL version 2.21.5+cuda12.4``). Then it belongs to the only host in its file.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.derived import derive_record
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

    def derive(self, _state: JobState) -> list[Record]:
        by_host = dict(self.by_host)
        for file, record in self.by_file.items():
            if len(hosts := self.hosts.get(file, ())) == 1:
                by_host.setdefault(min(hosts), record)
        counts = Counter(str(record.fields.get("version")) for record in by_host.values())
        if len(by_host) < MIN_HOSTS or len(counts) < 2:
            return []
        usual, count = counts.most_common(1)[0]
        if 2 * count <= len(by_host):
            return []
        odd = ((host, record, str(record.fields.get("version"))) for host, record in by_host.items())
        return [
            derive_record(
                "odd_version", record, {"host": host, "version": version, "others_version": usual}, keep_source=False
            )
            for host, record, version in odd
            if version != usual
        ]

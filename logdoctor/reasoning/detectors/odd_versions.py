"""The ledger of odd versions: a host that loaded another NCCL than most.

The line that tells a version often names nobody (``NCCL version 2.21.5+cuda12.4``): then it is the host's that alone
speaks in its file.

Derived event (dialect ``ledger``, one for each odd host; it stands on the line that tells its version):

- ``ledger.odd_version``  host, version, others_version
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState

FEWEST = 3
"""Of two hosts nobody knows which one is odd."""
MOST = 1 << 14
"""So many hosts and files are kept."""


class Detector(Struct):
    """Keeps which version each host told first, and who speaks in files in which one is told by nobody."""

    by_host: dict[str, Record] = field(default_factory=dict)
    by_file: dict[str, Record] = field(default_factory=dict)
    hosts: dict[str, set[str]] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if record.format != "nccl":
            return
        file, host = record.line.file, short_host(record.source.host or "")
        if host and (file in self.hosts or len(self.hosts) < MOST):
            hosts = self.hosts.setdefault(file, set())
            if len(hosts) < FEWEST:
                hosts.add(host)
        told, who = (self.by_host, host) if host else (self.by_file, file)
        if record.kind == "nccl.version" and len(told) < MOST:
            told.setdefault(who, record)

    def derive(self, _picture: JobState) -> list[Record]:
        """The events that follow from all that was observed."""
        by_host = dict(self.by_host)
        for file, record in self.by_file.items():
            if len(hosts := self.hosts.get(file, ())) == 1:
                by_host.setdefault(min(hosts), record)
        counted = Counter(str(record.fields.get("version")) for record in by_host.values())
        if len(by_host) < FEWEST or len(counted) < 2:
            return []
        usual, count = counted.most_common(1)[0]
        if 2 * count <= len(by_host):
            return []
        odd = ((host, e, str(e.fields.get("version"))) for host, e in by_host.items())
        return [
            derived("odd_version", record, {"host": host, "version": version, "others_version": usual}, spoken=False)
            for host, record, version in odd
            if version != usual
        ]

"""The ledger of odd versions: a host that loaded another NCCL than most.

The line that tells a version often names nobody (``NCCL version 2.21.5+cuda12.4``): then it is the host's that alone
speaks in its file.

Derived event (dialect ``ledger``, one for each odd host; it stands on the line that tells its version):

- ``ledger.odd_version``  host, version, others_version
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from logdoctor.model import Event
from logdoctor.reasoning.addresses import short_host
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.picture import Picture

FEWEST = 3
"""Of two hosts nobody knows which one is odd."""
MOST = 1 << 14
"""So many hosts and files are kept."""


class Ledger(Struct):
    """Keeps which version each host told first, and who speaks in files in which one is told by nobody."""

    by_host: dict[str, Event] = field(default_factory=dict)
    by_file: dict[str, Event] = field(default_factory=dict)
    hosts: dict[str, set[str]] = field(default_factory=dict)

    def observe(self, event: Event) -> None:
        """Take one event in."""
        if event.dialect != "nccl":
            return
        file, host = event.line.file, short_host(event.speaker.host or "")
        if host and (file in self.hosts or len(self.hosts) < MOST):
            hosts = self.hosts.setdefault(file, set())
            if len(hosts) < FEWEST:
                hosts.add(host)
        told, who = (self.by_host, host) if host else (self.by_file, file)
        if event.kind == "nccl.version" and len(told) < MOST:
            told.setdefault(who, event)

    def derive(self, _picture: Picture) -> list[Event]:
        """The events that follow from all that was observed."""
        by_host = dict(self.by_host)
        for file, event in self.by_file.items():
            if len(hosts := self.hosts.get(file, ())) == 1:
                by_host.setdefault(min(hosts), event)
        counted = Counter(str(event.fields.get("version")) for event in by_host.values())
        if len(by_host) < FEWEST or len(counted) < 2:
            return []
        usual, count = counted.most_common(1)[0]
        if 2 * count <= len(by_host):
            return []
        odd = ((host, e, str(e.fields.get("version"))) for host, e in by_host.items())
        return [
            derived("odd_version", event, {"host": host, "version": version, "others_version": usual}, spoken=False)
            for host, event, version in odd
            if version != usual
        ]

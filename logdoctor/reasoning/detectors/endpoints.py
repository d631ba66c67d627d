"""Ports of torch's store that were asked for, against those that are listened on.

Derived record (format ``ledger``, on the line of a process that could not connect):

- ``ledger.other_port``  peer (as asked), port, listens (the ports on which a store of the job listens, or that others
  asked for in vain)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState

FAILED = "c10d.store_connect_timeout"
MAX_PORTS = 1024


class Detector(Struct):
    """First vain attempt for each port, and the ports that are open."""

    READS: ClassVar = ("c10d.listening", "elastic.workers", FAILED)

    asked: dict[tuple[str, int], Record] = field(default_factory=dict)
    listens: dict[int, None] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        port = record.fields.get("port", record.fields.get("master_port"))
        if not isinstance(port, int):
            return
        if record.kind in ("c10d.listening", "elastic.workers") and len(self.listens) < MAX_PORTS:
            self.listens[port] = None
        elif record.kind == FAILED and record.failing and len(self.asked) < MAX_PORTS:
            store = short_host(str(record.fields.get("store_host", "")))
            self.asked.setdefault((store, port), record.without_lines())

    def derive(self, _state: JobState) -> Iterator[Record]:
        for (store, port), record in self.asked.items():
            others = [p for host, p in self.asked if host == store and p != port]
            open_ports = [p for p in self.listens if p != port]
            if port not in self.listens and (open_ports or others):
                listens = ", ".join(map(str, sorted({*open_ports, *others})))
                yield derive_record("other_port", record, peer=f"{store}:{port}", port=port, listens=listens)
                return

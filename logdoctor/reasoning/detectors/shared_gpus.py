"""Ranks of one NCCL communicator that were given the same GPU.

Derived record (format ``ledger``, on the line of the later rank):

- ``ledger.shared_gpu``  group_ranks, host, bus_id, and ranks if the job's ranks are known

Source: NCCL's lines ``Init START`` with ``commId`` and ``busId``. A communicator that was completed is no evidence,
because ranks may share a GPU since NCCL 2.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.derived import derive_of_other
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState

MAX_SEATS = 1 << 16


class Detector(Struct):
    """Ranks by communicator, host and GPU."""

    READS: ClassVar = ("starts again", "nccl.comm_init")

    seats: dict[tuple[str, str, str], dict[int, Record]] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)

    def observe(self, record: Record) -> None:
        if record.has("starts again"):
            self.seats.clear()
        fields = record.fields
        group, bus, rank = fields.get("comm_id"), fields.get("bus_id"), fields.get("group_rank")
        if record.kind != "nccl.comm_init" or not isinstance(group, str):
            return
        if fields.get("phase") == "COMPLETE" and len(self.complete) < MAX_SEATS:
            self.complete.add(group)
        elif isinstance(bus, str) and isinstance(rank, int) and len(self.seats) < MAX_SEATS:
            self.seats.setdefault((group, short_host(record.host or ""), bus), {}).setdefault(rank, record)

    def derive(self, state: JobState) -> Iterator[Record]:
        for (group, host, bus), ranks in self.seats.items():
            if len(ranks) < 2 or group in self.complete:
                continue
            known = {state.places.rank_of(record) for record in ranks.values()} - {None}
            yield derive_of_other(
                "shared_gpu",
                [*ranks.values()][-1],
                group_ranks=", ".join(map(str, sorted(ranks))),
                host=host,
                bus_id=bus,
                ranks=tuple(sorted(r for r in known if r is not None)) if len(known) == len(ranks) else (),
            )
            return

"""Ranks that waited for NCCL's unique id.

Derived record (format ``ledger``, on the first line of a rank that waited):

- ``ledger.id_awaited``  rank 0 of the job kept the others waiting: rank, host, waiting (the ranks that say so)

Member 0 of a group makes the unique id. The other members print their own number in the group and that of member 0
(torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, `broadcastUniqueNCCLID`, 1.8 to 2.9). Members are numbered by rising
global rank. If a member has the same number in the group and in the job, all lower ranks are members too. Then member 0
is rank 0. The keys of the default group show it as well.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_of_other
from logdoctor.reasoning.detectors import forget
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import starts_workers

MAX_RANKS = 4096
SEARCHED = 2000
PHRASE = "Id from [0] via c10d"
_WAITS = later(r"\[(?P<member>\d{1,7})\] is setting up \w{3,8} communicator and retr(?:ie|ei)ving")
_DEFAULT_GROUP = "keys: /default_pg/"


class Detector(Struct):
    """Members that waited for the id."""

    READS: ClassVar = ("starts", "starts again", "failing", "tells size")

    waiting: dict[int, Record] = field(default_factory=dict)
    """Records by the number in the group."""
    in_other_groups: bool = False
    in_default_group: bool = False

    def observe(self, record: Record) -> None:
        if starts_workers(record):
            forget(self)
        elif PHRASE in record.text[:SEARCHED] and (match := _WAITS.search(record.text[:SEARCHED])):
            if (member := number(match["member"])) is None:
                return
            self.in_default_group |= _DEFAULT_GROUP in record.text[:SEARCHED]
            self.in_other_groups |= record.rank not in (None, member)
            if len(self.waiting) < MAX_RANKS and (record.rank is not None or not self.waiting):
                self.waiting.setdefault(member, record)

    def derive(self, state: JobState) -> list[Record]:
        same_rank = {member: record for member, record in self.waiting.items() if record.rank == member}
        if not self.waiting or self.in_other_groups or not (same_rank or self.in_default_group):
            return []
        first = min((same_rank or self.waiting).values(), key=lambda e: e.order)
        waiting, host = tuple(sorted(self.waiting)), state.places.host_with(0)
        return [derive_of_other("id_awaited", first, rank=0, host=host, waiting=waiting)]

"""The ledger of unique ids: which rank the others of its group waited for when NCCL was to be set up.

Derived event (dialect ``ledger``; it stands on the first line of a rank that waited):

- ``ledger.id_awaited``  rank 0 of the job kept the others waiting: rank, host, waiting (the ranks that say so)

A group's member 0 makes the unique id, and the others print both their own number in the group and the one that they
wait for (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, `broadcastUniqueNCCLID`, 1.8 to 2.9).  Members are numbered
by their global ranks in rising order, so where one has the same number in the group and in the job, all ranks below it
are members too, and number 0 is rank 0.  The keys of the default group say it as well.
"""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import STARTS

MAX_RANKS = 4096
SEARCHED = 2000
SAYS = "Id from [0] via c10d"
_WAITS = later(r"\[(?P<member>\d{1,7})\] is setting up \w{3,8} communicator and retr(?:ie|ei)ving")
_DEFAULT_GROUP = "keys: /default_pg/"


class Detector(Struct):
    """Keeps who waited for the id; `derive` tells for whom, where that is sure."""

    waited: dict[int, Record] = field(default_factory=dict)
    """By the number in the group."""
    in_other_groups: bool = False
    in_default_group: bool = False

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if not STARTS.isdisjoint(record.signs):
            self.waited.clear()
            self.in_other_groups = self.in_default_group = False
        elif SAYS in record.text[:SEARCHED] and (hit := _WAITS.search(record.text[:SEARCHED])):
            member = int(hit["member"])
            self.in_default_group |= _DEFAULT_GROUP in record.text[:SEARCHED]
            self.in_other_groups |= record.rank not in (None, member)
            if len(self.waited) < MAX_RANKS and (record.rank is not None or not self.waited):
                self.waited.setdefault(member, record)

    def derive(self, state: JobState) -> list[Record]:
        """The event that follows from all that was observed."""
        named = {member: record for member, record in self.waited.items() if record.rank == member}
        if not self.waited or self.in_other_groups or not (named or self.in_default_group):
            return []
        first = min((named or self.waited).values(), key=lambda e: e.order)
        fields: dict[str, Value] = {"rank": 0, "waiting": tuple(sorted(self.waited))}
        return [derived("id_awaited", first, {**fields, "host": state.places.host_with(0)}, spoken=False)]

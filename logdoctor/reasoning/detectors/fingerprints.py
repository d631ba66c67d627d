"""The ledger of fingerprints: which collective each rank says that it runs, where PyTorch compares every call.

Derived event (dialect ``ledger``; it stands on what the odd rank says, and on what another one says):

- ``ledger.collective_mismatch``  few ranks run another collective than most: seq, op, other_op, odd, odd_hosts, ranks

With TORCH_DISTRIBUTED_DEBUG=DETAIL each rank that sees a mismatch names its own call first and then that of one other
rank, whichever comes first (PyTorch 1.9 to 2.9, ProcessGroupWrapper.cpp).  What it says of the other may be misread, as
the other's bytes mean something else; so a rank's own word counts more.  Of two equal sides none is the odd one; where
only two ranks are told of, they are the two that differ.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.job_state import JobState

MISMATCH = "Detected mismatch between collectives"
BOTH, FEWEST = 2, 3
MAX_RANKS = 4096
SEARCHED = 4000
_SAYS = later(
    r"Rank (?P<rank>\d{1,7}) is running (?:inconsistent )?collective: CollectiveFingerPrint\("
    r"(?:SequenceNumber=(?P<seq>\d{1,18}),? ?)?OpType=(?P<op>\w{1,40})(?:, TensorShape=\[(?P<shape>[^\]\n]{0,60})\])?"
)


class Call(Struct, frozen=True):
    """What a rank runs: the operation with its shape, and its number."""

    op: str
    seq: int | None
    record: Record


class Detector(Struct):
    """Keeps each rank's own word, and what others say of it; `derive` tells who stands apart."""

    own: dict[int, Call] = field(default_factory=dict)
    told: dict[int, Call] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if "restart" in record.signs:
            self.own.clear()
            self.told.clear()
        elif MISMATCH in record.text[:SEARCHED] and len(self.own) + len(self.told) < MAX_RANKS:
            for place, hit in enumerate(_SAYS.finditer(record.text[:SEARCHED])):
                shape = f" of [{hit['shape']}]" if hit["shape"] else ""
                call = Call(hit["op"] + shape, int(hit["seq"]) if hit["seq"] else None, record)
                (self.told if place else self.own).setdefault(int(hit["rank"]), call)

    def derive(self, state: JobState) -> list[Record]:
        """The events that follow from all that was observed."""
        calls = {**self.told, **self.own}
        sides: dict[str, list[int]] = {}
        for rank, call in sorted(calls.items()):
            sides.setdefault(call.op, []).append(rank)
        if len(calls) == BOTH:
            first, second = sorted(calls)
            return _derived(calls, [second], [first, second], state)
        if len(calls) < FEWEST or len(sides) < 2:
            return []
        ordered = sorted(sides.values(), key=lambda side: (-len(side), side))
        most, odd = ordered[0], sorted(rank for side in ordered[1:] for rank in side)
        return _derived(calls, most, odd, state) if len(odd) < len(most) else []


def _derived(calls: Mapping[int, Call], most: list[int], odd: list[int], state: JobState) -> list[Record]:
    one, other = calls[odd[0]], calls[most[0]]
    fields: dict[str, Value] = {"op": other.op, "other_op": one.op, "ranks": tuple(odd), "odd": tuple(odd)}
    if one.seq is not None and one.seq == other.seq:
        fields["seq"] = one.seq
    fields["odd_hosts"] = state.places.hosts_with(odd)
    records = [one.record] if one.record is other.record else [one.record, other.record]
    return [derived("collective_mismatch", record, fields) for record in records]

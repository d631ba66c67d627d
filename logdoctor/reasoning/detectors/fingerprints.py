"""Ranks that run another collective than most, where PyTorch compares every call.

Derived record (format ``ledger``, on the message of the odd rank and on that of another rank):

- ``ledger.collective_mismatch``  few ranks run another collective than most: seq, op, other_op, odd, odd_hosts, ranks

With TORCH_DISTRIBUTED_DEBUG=DETAIL each rank that sees a mismatch prints its own call first. Then it prints the call
of a single other rank (PyTorch 1.9 to 2.9, ProcessGroupWrapper.cpp). It may misread the bytes of that rank, so the
message of a rank about itself counts more. No side is odd if both are equally large. If only two ranks are printed,
they are the two that differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.detectors import forget, split_odd
from logdoctor.reasoning.job_state import JobState

MISMATCH = "Detected mismatch between collectives"
PAIR = 2
MAX_RANKS = 4096
SEARCHED = 4000
_FINGERPRINT = later(
    r"Rank (?P<rank>\d{1,7}) is running (?:inconsistent )?collective: CollectiveFingerPrint\("
    r"(?:SequenceNumber=(?P<seq>\d{1,18}),? ?)?OpType=(?P<op>\w{1,40})(?:, TensorShape=\[(?P<shape>[^\]\n]{0,60})\])?"
)


class Call(Struct, frozen=True):
    """Operation with its shape that a rank runs, and its sequence number."""

    op: str
    seq: int | None
    record: Record


class Detector(Struct):
    """Calls of each rank, by itself and by others."""

    READS: ClassVar = ("starts again", "failing", "tells size")

    own_calls: dict[int, Call] = field(default_factory=dict)
    reported_calls: dict[int, Call] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        if record.has("starts again"):
            forget(self)
        elif MISMATCH in record.text[:SEARCHED] and len(self.own_calls) + len(self.reported_calls) < MAX_RANKS:
            for place, match in enumerate(_FINGERPRINT.finditer(record.text[:SEARCHED])):
                shape = f" of [{match['shape']}]" if match["shape"] else ""
                call = Call(match["op"] + shape, number(match["seq"]), record)
                if (rank := number(match["rank"])) is not None:
                    (self.reported_calls if place else self.own_calls).setdefault(rank, call)

    def derive(self, state: JobState) -> list[Record]:
        calls = {**self.reported_calls, **self.own_calls}
        if len(calls) == PAIR:
            first, second = sorted(calls)
            return _mismatch(calls, [second], [first, second], state)
        most, odd = split_odd({rank: call.op for rank, call in calls.items()})
        return _mismatch(calls, most, odd, state) if 0 < len(odd) < len(most) else []


def _mismatch(calls: Mapping[int, Call], most: list[int], odd: list[int], state: JobState) -> list[Record]:
    odd_call, usual_call = calls[odd[0]], calls[most[0]]
    fields: dict[str, Value | None] = {
        "op": usual_call.op,
        "other_op": odd_call.op,
        "ranks": tuple(sorted(odd)),
        "odd": tuple(sorted(odd)),
        "odd_hosts": state.places.hosts_with(odd),
        "seq": odd_call.seq if odd_call.seq == usual_call.seq else None,
    }
    records = [odd_call.record] if odd_call.record is usual_call.record else [odd_call.record, usual_call.record]
    return [derive_record("collective_mismatch", record, **fields) for record in records]

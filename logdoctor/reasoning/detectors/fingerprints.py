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
from logdoctor.reasoning.job_state import JobState

MISMATCH = "Detected mismatch between collectives"
PAIR, MIN_RANKS = 2, 3
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

    READS: ClassVar = ("starts again",)
    PHRASES: ClassVar = (MISMATCH,)

    own_calls: dict[int, Call] = field(default_factory=dict)
    reported_calls: dict[int, Call] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        if record.has("starts again"):
            self.own_calls.clear()
            self.reported_calls.clear()
        elif MISMATCH in record.text[:SEARCHED] and len(self.own_calls) + len(self.reported_calls) < MAX_RANKS:
            for place, match in enumerate(_FINGERPRINT.finditer(record.text[:SEARCHED])):
                shape = f" of [{match['shape']}]" if match["shape"] else ""
                call = Call(match["op"] + shape, number(match["seq"]), record)
                if (rank := number(match["rank"])) is not None:
                    (self.reported_calls if place else self.own_calls).setdefault(rank, call)

    def derive(self, state: JobState) -> list[Record]:
        calls = {**self.reported_calls, **self.own_calls}
        sides: dict[str, list[int]] = {}
        for rank, call in sorted(calls.items()):
            sides.setdefault(call.op, []).append(rank)
        if len(calls) == PAIR:
            first, second = sorted(calls)
            return _mismatch(calls, [second], [first, second], state)
        if len(calls) < MIN_RANKS or len(sides) < 2:
            return []
        ordered = sorted(sides.values(), key=lambda side: (-len(side), side))
        most, odd = ordered[0], sorted(rank for side in ordered[1:] for rank in side)
        return _mismatch(calls, most, odd, state) if len(odd) < len(most) else []


def _mismatch(calls: Mapping[int, Call], most: list[int], odd: list[int], state: JobState) -> list[Record]:
    odd_call, usual_call = calls[odd[0]], calls[most[0]]
    fields: dict[str, Value] = {"op": usual_call.op, "other_op": odd_call.op, "ranks": tuple(odd), "odd": tuple(odd)}
    if odd_call.seq is not None and odd_call.seq == usual_call.seq:
        fields["seq"] = odd_call.seq
    fields["odd_hosts"] = state.places.hosts_with(odd)
    records = [odd_call.record] if odd_call.record is usual_call.record else [odd_call.record, usual_call.record]
    return [derive_record("collective_mismatch", record, fields) for record in records]

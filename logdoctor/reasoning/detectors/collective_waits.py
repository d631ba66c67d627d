"""Ranks that wait in different calls, or for a silent rank.

Derived records (format ``ledger``, each on the exception of a rank that waited):

- ``ledger.waits_differ``  all ranks waited, but not in the same call: function, others_function, odd, odd_hosts (the
  smaller side, absent where the sides are equal), others (their number), ranks_here, ranks_there (who is in function
  and in others_function), here, there (the program's own line with this call, if all of a side are in one)
- ``ledger.all_send``      all ranks waited for a receiver of what they send: function, count
- ``ledger.silent_rank``   all ranks but one waited: missing, missing_hosts, function, unresponsive. The missing rank
  reported no wait. The field ``unresponsive`` is ``yes`` if the launcher had to
  kill one process.

Only exceptions from the waiting call count (Gloo, blocking waits of NCCL). The watchdog of NCCL prints from a thread
of its own, so `collectives` reads its lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.detectors import forget, split_odd
from logdoctor.reasoning.detectors.stacks import PAIRWISE, Position, position_of
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import starts_workers
from logdoctor.reasoning.lifecycle.lives import SIGKILL

MIN_WAITING = 2
"""With one wait alone, other ranks may have been killed before they reported theirs."""
MAX_RANKS = 4096
SEARCHED = 2000
_TIMEOUT = later(
    r"Timed out waiting \d+ ?ms for (?:send|recv)|timed out in (?:call to wait\(\)|blocking wait)"
    r"|failed to pass monitoredBarrier"
)
_LOST_PEER = later(
    r"Connection closed by peer \[|Application timeout caused pair closure|reached monitoredBarrier, but rec"
)
"""Errors of the other ranks once the first rank has timed out."""
_SEND = later(r":i?send\w*$")


class Detector(Struct):
    """Collected waits of all ranks."""

    READS: ClassVar = ("starts", "starts again", "is ended", "fails", "gives up", "waits")

    waits: dict[int, Record] = field(default_factory=dict)
    failed_otherwise: set[int] = field(default_factory=set)
    """Ranks with another failure than a wait."""
    reported: set[int] = field(default_factory=set)
    """Ranks in the launcher's summary."""
    killed_pids: set[int] = field(default_factory=set)
    """Processes that the launcher ended with SIGKILL."""
    has_timeout: bool = False

    def observe(self, record: Record) -> None:
        if starts_workers(record):
            forget(self)
        elif record.has("is ended", "named"):
            if record.fields.get("signal") == SIGKILL and record.pid is not None and len(self.killed_pids) < MAX_RANKS:
                self.killed_pids.add(record.pid)
        elif record.has("fails", "named") and "other_ranks" in record.fields:
            others = record.fields.get("other_ranks")
            ranks = (record.rank, *(others if isinstance(others, tuple) else ()))
            self.reported.update(r for r in ranks[:MAX_RANKS] if isinstance(r, int))
        elif record.rank is not None and record.failing:
            self._read_failure(record, record.rank)

    def _read_failure(self, record: Record, rank: int) -> None:
        text = record.text[:SEARCHED]
        has_timeout = _TIMEOUT.search(text) is not None
        if not has_timeout and not _LOST_PEER.search(text):
            if len(self.failed_otherwise) < MAX_RANKS:
                self.failed_otherwise.add(rank)
        elif rank not in self.waits and len(self.waits) < MAX_RANKS:
            self.has_timeout = self.has_timeout or has_timeout
            self.waits[rank] = record.without_lines()

    def derive(self, state: JobState) -> list[Record]:
        if not self.has_timeout or len(self.waits) < MIN_WAITING:
            return []
        expected = range(min(state.places.expected or 0, MAX_RANKS))
        world = {*state.places.ranks, *self.reported, *self.waits, *expected}
        absent = sorted(world - self.waits.keys())
        if len(absent) == 1 and absent[0] not in self.failed_otherwise:
            return [self._silent_rank(absent[0], state)]
        if absent or self.failed_otherwise - self.waits.keys():
            return []
        positions = {
            rank: position for rank, record in self.waits.items() if (position := position_of(record)) is not None
        }
        all_wait = len(positions) == len(self.waits) and all(p.activity in ("comm", "gpu") for p in positions.values())
        return _compare(positions, state) if all_wait else []

    def _silent_rank(self, missing: int, state: JobState) -> Record:
        first = min((e for e in self.waits.values() if _TIMEOUT.search(e.text[:SEARCHED])), key=lambda e: e.order)
        position = position_of(first)
        return derive_record(
            "silent_rank",
            first,
            missing=(missing,),
            missing_hosts=state.places.hosts_with((missing,)),
            function=_function_name(position) if position else "",
            unresponsive="yes" if len(self.killed_pids) == 1 else "no",
        )


def _compare(positions: Mapping[int, Position], state: JobState) -> list[Record]:
    """Compare the calls in which all ranks wait."""
    if all(_SEND.search(p.call) for p in positions.values()):
        first = min(positions.values(), key=lambda p: p.record.order)
        return [derive_record("all_send", first.record, function=_function_name(first), count=len(positions))]
    # by call, because ranks may reach the same barrier from different functions
    most, odd = split_odd({rank: position.call for rank, position in positions.items()})
    if not odd or any(PAIRWISE.search(p.call) for p in positions.values()):
        return []  # pipeline stages wait in different calls by design
    odd_position, usual_position = positions[odd[0]], positions[most[0]]
    few = odd if len(odd) < len(most) else []
    fields: dict[str, Value] = {
        "function": _function_name(odd_position),
        "others_function": _function_name(usual_position),
        "others": len(most),
        "ranks_here": tuple(rank for rank in odd if positions[rank].call == odd_position.call),
        "ranks_there": tuple(most),
        "here": _own_frame(p for p in positions.values() if p.call == odd_position.call),
        "there": _own_frame(positions[rank] for rank in most),
        "odd": tuple(few),
        "odd_hosts": state.places.hosts_with(few),
    }
    return [derive_record("waits_differ", position.record, **fields) for position in (odd_position, usual_position)]


def _own_frame(positions: Iterable[Position]) -> str:
    """Return the innermost frame of the program itself, or "" if it differs."""
    frames = {str(position.record.fields.get("own_frame", "")) for position in positions}
    return frames.pop() if len(frames) == 1 else ""


def _function_name(position: Position) -> str:
    return position.call.rpartition(":")[2]

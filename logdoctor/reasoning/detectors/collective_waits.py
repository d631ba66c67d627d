"""The ledger of waits: where in the program each rank stood when it gave up on the others, and who never said so.

Derived events (dialect ``ledger``; each stands on the exception of a rank that waited):

- ``ledger.waits_differ``  every rank waited for the others, but not all in the same call: function, others_function,
  odd, odd_hosts (the smaller side; absent where the sides are equal), others (how many)
- ``ledger.all_send``      every rank waited until somebody takes what it sends: function, count
- ``ledger.silent_rank``   all ranks but one waited and gave up, and that one never said a word about it, or began its
  part when the others had gone: missing, missing_hosts, function; unresponsive (``yes``: it did not even end when told)

Only exceptions of libraries that raise where the program waits count (Gloo, blocking waits of NCCL): the watchdog's
words come from a thread of its own and are read by the ledger of collectives.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.detectors.stacks import PAIRWISE, Stand, stand_of
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import STARTS

FEWEST_WAITING = 2
"""Of two ranks one may be ended before it could say that it waited, too."""
MAX_RANKS = 4096
SEARCHED = 2000
_GAVE_UP = later(
    r"Timed out waiting \d+ ?ms for (?:send|recv)|timed out in (?:call to wait\(\)|blocking wait)"
    r"|failed to pass monitoredBarrier"
)
_LOST = later(r"Connection closed by peer \[|Application timeout caused pair closure|reached monitoredBarrier, but rec")
"""What the others read once the first has given up."""
_SEND = later(r":i?send\w*$")
_BEGAN = later(r":i(?:send|recv)$")
"""The frame in which an operation is begun; who waits for its end stands further out."""
_ENDED_BY_FORCE = 9


class Detector(Struct):
    """Keeps where each rank waited; `derive` tells who stood elsewhere, or never came."""

    waits: dict[int, Record] = field(default_factory=dict)
    troubled: set[int] = field(default_factory=set)
    """Ranks that failed in another way."""
    named: set[int] = field(default_factory=set)
    """Ranks that the launcher tells of at the end."""
    late: set[int] = field(default_factory=set)
    """Ranks that began to send or receive when the others had given up."""
    forced: set[int] = field(default_factory=set)
    """Processes that the launcher had to kill."""
    gave_up: bool = False

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if not STARTS.isdisjoint(record.signs):
            self._start_anew()
        elif record.kind == "elastic.sigterm":
            if (
                record.fields.get("signal") == _ENDED_BY_FORCE
                and record.pid is not None
                and len(self.forced) < MAX_RANKS
            ):
                self.forced.add(record.pid)
        elif record.kind == "elastic.failure_summary":
            others = record.fields.get("other_ranks")
            ranks = (record.rank, *(others if isinstance(others, tuple) else ()))
            self.named.update(r for r in ranks[:MAX_RANKS] if isinstance(r, int))
        elif record.rank is not None and record.failing:
            self._see_failure(record, record.rank)

    def _start_anew(self) -> None:
        for memory in (self.waits, self.troubled, self.named, self.late, self.forced):
            memory.clear()
        self.gave_up = False

    def _see_failure(self, record: Record, rank: int) -> None:
        text = record.text[:SEARCHED]
        gave_up = _GAVE_UP.search(text) is not None
        if not gave_up and not _LOST.search(text):
            if len(self.troubled) < MAX_RANKS:
                self.troubled.add(rank)
        elif rank not in self.waits and len(self.waits) < MAX_RANKS:
            if self.gave_up and not gave_up and _BEGAN.search(str(record.fields.get("frames", ""))):
                self.late.add(rank)
            self.gave_up = self.gave_up or gave_up
            self.waits[rank] = record.without_lines()

    def derive(self, state: JobState) -> list[Record]:
        """The events that follow from all that was observed."""
        if not self.gave_up or len(self.waits) < FEWEST_WAITING:
            return []
        world = (
            state.places.ranks | self.named | self.waits.keys() | set(range(min(state.places.expected or 0, MAX_RANKS)))
        )
        absent = sorted(world - self.waits.keys())
        if len(absent) == 1 and absent[0] not in self.troubled:
            return [self._silent(absent[0], state)]
        if absent or self.troubled - self.waits.keys():
            return []
        if len(self.late) == 1 and self._all_gave_up(self.waits.keys() - self.late):
            return [self._silent(min(self.late), state)]
        stands = {rank: stand for rank, record in self.waits.items() if (stand := stand_of(record)) is not None}
        told = len(stands) == len(self.waits) and all(s.at in ("comm", "gpu") for s in stands.values())
        return _compared(stands, state) if told else []

    def _all_gave_up(self, ranks: Collection[int]) -> bool:
        return len(ranks) >= FEWEST_WAITING and all(_GAVE_UP.search(self.waits[r].text[:SEARCHED]) for r in ranks)

    def _silent(self, missing: int, state: JobState) -> Record:
        first = min((e for e in self.waits.values() if _GAVE_UP.search(e.text[:SEARCHED])), key=lambda e: e.order)
        host, stand = state.places.host_with(missing), stand_of(first)
        fields: dict[str, Value] = {
            "missing": (missing,),
            "missing_hosts": (host,) if host else (),
            "function": _name(stand) if stand else "",
            "unresponsive": "yes" if len(self.forced) == 1 else "no",
        }
        return derived("silent_rank", first, fields)


def _compared(stands: Mapping[int, Stand], state: JobState) -> list[Record]:
    """Whether ranks that all wait wait for different things."""
    if all(_SEND.search(s.call) for s in stands.values()):
        first = min(stands.values(), key=lambda s: s.record.order)
        return [derived("all_send", first.record, {"function": _name(first), "count": len(stands)})]
    sides: dict[str, list[int]] = {}  # by call, not by stack: who comes late to one barrier may come another way
    for rank, stand in sorted(stands.items()):
        sides.setdefault(stand.call, []).append(rank)
    if len(sides) < 2 or any(PAIRWISE.search(s.call) for s in stands.values()):
        return []  # stages of a pipeline stand in different calls without a fault
    ordered = sorted(sides.values(), key=lambda side: (-len(side), side))
    most, odd = ordered[0], [rank for side in ordered[1:] for rank in side]
    one, other = stands[odd[0]], stands[most[0]]
    fields: dict[str, Value] = {"function": _name(one), "others_function": _name(other), "others": len(most)}
    if len(odd) < len(most):
        fields |= {"odd": tuple(odd), "odd_hosts": state.places.hosts_with(odd)}
    return [derived("waits_differ", stand.record, fields) for stand in (one, other)]


def _name(stand: Stand) -> str:
    """The call without its file."""
    return stand.call.rpartition(":")[2]

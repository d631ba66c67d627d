"""The ledger of waits: who waits in which call, who works meanwhile, and who is waited for and does not wait.

Collectives, store barriers, stacks, stalls and exceptions of waiting calls are read into `Wait` and `Working`. Only
`awaited` concludes who keeps the others waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from logdoctor.model import Record, Value
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_of_other, derive_record
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import printed_after
from logdoctor.reasoning.questions import SEARCHED, asks, says_done
from logdoctor.reasoning.timeline import Timeline

GAVE_UP = (-6, 134)
"""Exit codes of SIGABRT, by which torch's watchdog ends a process that waited in vain."""
MIN_LISTED = 3
MANY_STARTS = 4
"""So many times the world size is no second launch beside the first."""
MIN_RANKS = 2
MIN_LINES = 4
"""Fewer lines of a barrier may be a short wait."""
UNKNOWN = -1
"""A rank or a number that is not told."""
PHASES = ("save", "eval", "data", "load", "compile")
_BARRIER = later(
    r"store based barrier[^\n]{0,400}?(?:for|on) rank:? (?P<rank>\d{1,7})\b[^\n]{0,200}?world_size=(?P<world>\d{1,7}), "
    r"(?:worker_count|num_workers_joined)=(?P<joined>\d{1,7})"
)


class Wait(Struct, frozen=True):
    """A process that waits for others in a call."""

    who: int
    """Rank, `UNKNOWN` if it is not told."""
    record: Record
    call: str = ""
    group: str = ""
    """Name of the group whose members make the call, "" if unknown."""
    number: int = UNKNOWN
    """Number of the call in its group."""
    size: int | None = None
    """Number of elements."""
    awaits: tuple[int, ...] = ()
    """Ranks for which it waits, as far as it names them."""
    stack: tuple[str, ...] = ()
    what: str = "comm"
    """``gpu`` if it waits for its GPU."""


class Working(Struct, frozen=True):
    """A process that is at other work than a wait."""

    who: int
    record: Record
    call: str = ""
    """Innermost call, or the line that shows the work."""
    what: str = "work"
    """Activity, such as ``save``."""
    stack: tuple[str, ...] = ()


def awaited(world: Iterable[int], waits: Iterable[Wait]) -> list[int]:
    """Return the ranks that others wait for and that do not wait themselves.

    They are of ``world``, or of those that a wait names.
    """
    waits = [*waits]
    named = {rank for wait in waits for rank in wait.awaits}
    return sorted((named or {*world}) - {wait.who for wait in waits})


@asks("waits")
def stalled(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield what the last stall of Horovod shows, on its line.

    - ``ledger.stalled``              the other ranks wait for some: late, tensor, most (if most ranks are late)
    - ``ledger.collective_mismatch``  ranks wait for each other: op, ranks

    A stall that names ranks is not replaced by a stall that is cut before them.
    """
    stalls = [e for e in t.of("waits") if e.has("waits", "group")]
    record = next((e for e in reversed(stalls) if e.fields.get("missing")), stalls[-1] if stalls else None)
    if record is None:
        return
    tensor = str(record.fields.get("stalled_ops", "")).partition(",")[0]
    sides = record.fields.get("sides")
    late = tuple(awaited((), [Wait(UNKNOWN, record, tensor, awaits=_numbers(record.fields.get("missing")))]))
    if len(late) > 1 and isinstance(sides, int) and sides > 1:
        yield derive_record("collective_mismatch", record, op=tensor, ranks=late)
    else:
        world = state.processes.expected or max(late, default=0) + 1
        is_most = len(late) >= MIN_LINES and 2 * len(late) > world
        yield derive_record("stalled", record, late=late, tensor=tensor, most="yes" if is_most else None)


def _numbers(value: Value | None) -> tuple[int, ...]:
    return tuple(v for v in value if isinstance(v, int)) if isinstance(value, tuple) else ()


@asks("tells size", "failing", "comes up")
def store_barrier(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield who did not come to the last store barrier, or that more came than the world has.

    - ``ledger.never_came``  some ranks of the world did not come (on the first line of a rank that waits or timed out):
      missing, missing_hosts, joined, world
    - ``ledger.world_exceeded``  more processes came than the world has ranks (on the first line that says so): rank
      (the rank that prints it), world, joined, excess (``twice``: each rank was counted twice; ``many``: so many
      that earlier starts are counted too)

    Each process adds one to a counter in the store. Until all have come, it prints its global rank, the group size and
    the counter every ten seconds. If as many ranks print as the counter says, the other ranks have not come. A group of
    some ranks has other members than 0 to size - 1. So nothing is derived if a larger rank prints. Source:
    torch/distributed/distributed_c10d.py, `_store_based_barrier`, 1.8 to 2.15.
    """
    waits: list[Wait] = []
    world = joined = 0
    exceeded = is_complete = False
    for record in t.of("tells size", "failing", "comes up"):
        if record.has("comes up"):
            is_complete = True
        elif (match := _BARRIER.search(record.text[:SEARCHED])) and len(told := number_fields(match.groupdict())) == 3:
            if told["joined"] > told["world"] and not exceeded:
                exceeded = True
                yield derive_record("world_exceeded", record, **told, excess=_excess(told["joined"], told["world"]))
            if told["world"] != world:
                waits, world, joined, is_complete = [], told["world"], 0, False
            waits.append(Wait(told["rank"], record, "barrier"))
            joined = max(joined, told["joined"])
    ranks = {wait.who for wait in waits}
    first = next((w.record for w in waits if w.record.failing), waits[0].record if waits else None)
    missing = tuple(awaited(range(world), waits))
    is_told = first is not None and not is_complete and (first.failing or len(waits) >= MIN_LINES)
    if is_told and first and missing and len(ranks) == joined == world - len(missing) and 2 * joined >= world:
        hosts = state.processes.hosts_with(missing)
        yield derive_record("never_came", first, missing=missing, missing_hosts=hosts, joined=joined, world=world)


def _excess(joined: int, world: int) -> str | None:
    return "twice" if joined == 2 * world else "many" if joined >= MANY_STARTS * world else None


@asks("gives up", "elastic.config", "elastic.failure_summary")
def absent_rank(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.absent_rank`` for the rank that is not in the launcher's list of failures: missing, host, listed.

    It stands on the line of the first rank that gave up waiting; listed is the number of the others. All other ranks of
    a node gave up waiting, and their agent lists them. The rank that is not listed did not wait with them: it still
    worked, hung, or never came.
    """
    gave_up = t.of("gives up")
    sizes = [size for e in t.of("elastic.config") if isinstance(size := e.fields.get("nproc_per_node"), int)]
    size = state.processes.per_node or (sizes[-1] if sizes else 0)
    for record in t.of("elastic.failure_summary") if gave_up else ():
        local, others = record.fields.get("local_rank"), record.fields.get("other_ranks")
        if record.rank is None or not isinstance(others, tuple) or not isinstance(local, int):
            continue
        listed, first = {record.rank, *_numbers(others)}, record.rank - local
        missing = awaited(range(first, first + size), (Wait(rank, record) for rank in listed))
        if record.fields.get("exit_code") in GAVE_UP and len(listed) >= MIN_LISTED and len(missing) == 1:
            host = short_host(record.host or "")
            yield derive_of_other("absent_rank", gave_up[0], missing=missing[0], host=host, listed=len(listed))
            return


@asks("busy", "gives up", "failing")
def lone_phase(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.lone_phase`` for work that one rank alone began, while others gave up waiting.

    It stands on the line of the work: rank, host, phase, work. It is the last line of the rank. All ranks printed steps
    of their own, so that silence means something, and at least one other rank gave up waiting afterwards.
    """
    steps = {rank: step for rank, step in state.steps.by_rank().items() if rank is not None and t.holds(step)}
    working: dict[int, Working] = {}
    waits: dict[int, Wait] = {}
    for record in t.of("busy", "gives up", "failing"):
        rank, phase = record.rank, record.fields.get("phase")
        if rank is None:
            continue
        if record.has("busy") and phase in PHASES:
            working.pop(rank, None)
            if not says_done(record) and (rank not in steps or steps[rank].order < record.order):
                working[rank] = Working(rank, record, record.text.strip()[:120], str(phase))
        elif record.has("gives up"):
            waits.setdefault(rank, Wait(rank, record))
        elif record.failing:
            working.pop(rank, None)
    if len(working) != 1 or len(steps) < MIN_RANKS:
        return
    ((rank, alone),) = working.items()
    began_last = rank in steps and printed_after(alone.record, steps[rank])
    is_awaited = began_last and waits and rank in awaited(steps, waits.values())
    if is_awaited and all(state.surely_after(wait.record, alone.record) for wait in waits.values()):
        host = state.processes.host_of(alone.record)
        yield derive_record("lone_phase", alone.record, rank=rank, host=host, phase=alone.what, work=alone.call)

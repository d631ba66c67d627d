"""Places at which the ranks stand that others wait for: a dump or a report, joined with their stacks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from logdoctor.model import Record, Value
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.questions.stacks import Place, find_frame, latest_places
from logdoctor.reasoning.questions.waiting import Wait
from logdoctor.reasoning.timeline import Timeline

MAX_SHOWN = 3
"""Stacks that stand as a proof."""
WAITS = {"comm": "wait", "gpu": "gpu"}
"""Words for a rank whose stack shows a wait."""
STATES = ("idle", "gil")
"""Fields of a stack that py-spy alone tells."""


def with_stacks(name: str, records: Iterable[Record], t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield the records of a conclusion, with the place at which all ranks in their field ``name`` stand.

    - stands: the innermost frame of their own code as ``read (train.py:31)``, else the call
    - inside: the call of a library there
    - doing: ``data``, ``save``, ``load``, ``eval``, ``compile``, ``file``, ``work``, ``gpu`` (waits for it) or ``wait``
    - idle, gil: ``yes`` if they sleep in the kernel, or hold the lock of the interpreter

    The stacks follow as records of the same kind, each on the line of that frame. Ranks that stand at several places,
    or of which one has no stack, are left as they are.
    """
    found = [*records]
    ranks = found[0].fields.get(name) if found else ()
    places = _places(ranks if isinstance(ranks, tuple) else (), t, state)
    told = [_tell(place) for place in places]
    if not told or any(one != told[0] for one in told):
        yield from found
        return
    for record in found:
        yield replace(record, fields={**record.fields, **told[0]})
    for place in places[:MAX_SHOWN]:
        record = derive_record(found[0].kind.partition(".")[2], place.record, **found[0].fields, **told[0])
        function, at = _frame(place)
        yield replace(record, line=find_frame(place.record, function, *at.rpartition(":")[::2]))


def _places(ranks: Collection[Value], t: Timeline, state: JobState) -> list[Place]:
    """Return the place of each rank, or nothing if one has none, or its files tell several.

    The stack of a debugger says less than that of the interpreter, so it counts only where no other is.
    """
    by_rank: dict[int | None, list[Place]] = {}
    for place in latest_places(t, state, of_each_file=True) if ranks else ():
        by_rank.setdefault(state.processes.rank_of(place.record), []).append(place)
    chosen = []
    for rank in ranks:
        of_rank = by_rank.get(rank if isinstance(rank, int) else None, [])
        best = [place for place in of_rank if "own_frame" in place.record.fields] or of_rank
        if len({str(_tell(place)["stands"]) for place in best}) != 1:
            return []
        chosen.append(best[-1])
    return chosen


def _tell(place: Place) -> dict[str, Value]:
    function, at = _frame(place)
    inside = place.call if place.call.rpartition(":")[2] != function.rpartition(":")[2] else ""
    doing = WAITS[place.what] if isinstance(place, Wait) else place.what
    told: dict[str, Value] = {"stands": f"{function} ({at})" if at else function, "inside": inside, "doing": doing}
    told |= {name: place.record.fields.get(name, "") for name in STATES}
    return {name: value for name, value in told.items() if value}


def _frame(place: Place) -> tuple[str, str]:
    """Return the innermost frame of the user's own code as function and ``file:line``, else the call and ""."""
    at, _, function = str(place.record.fields.get("own_frame", "")).rpartition(" in ")
    return (function, at) if at else (place.call, "")

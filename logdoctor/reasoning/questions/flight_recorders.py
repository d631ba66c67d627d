"""Name who holds up a job by the dumps of its Flight Recorders, else by the counts of its collectives.

A dump tells how far its rank came in each group. The dumps are taken at different moments, and an old call may be gone
from one. So only this is concluded: a member that has not enqueued the call in which others wait is waited for; a rank
whose peers ended the call in which it waits stands still itself; and where all wait at one point, the calls are
compared. Nothing pending is no failure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from logdoctor.model import Record, Value
from logdoctor.reasoning.derived import derive_of_other, derive_record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.questions import asks
from logdoctor.reasoning.questions.collectives import find_mismatch, mismatch_records
from logdoctor.reasoning.questions.counts import COUNTED, behind
from logdoctor.reasoning.questions.standing import with_stacks
from logdoctor.reasoning.questions.waiting import Wait, awaited
from logdoctor.reasoning.timeline import Timeline

WAITING_PER_MISSING = 3
"""Ranks that must wait for each rank without a dump before that is named: the dumps of a whole host may lack."""
PACKED = "coalesced"
"""A call of several operations, which tells neither their names nor their sizes."""


class Group(Struct):
    """A group, how far each rank came in it by its dump, and who waits in it."""

    name: str
    members: tuple[int, ...]
    records: Mapping[int, Record]
    waits: Sequence[Wait]

    def count(self, rank: int, name: str) -> int:
        """Return the number of the last call that a rank enqueued or completed, 0 for none."""
        record = self.records.get(rank)
        value = record.fields.get(name) if record else None
        return value if isinstance(value, int) else 0

    def stands_still(self, wait: Wait) -> bool:
        """Return whether another member ended the call in which a rank waits. Then its own device does not go on."""
        return any(self.count(rank, "completed") >= wait.number for rank in self.members if rank != wait.who)


@asks("flight_recorder.dump", "flight_recorder.group", "gives up", "tells stack", *COUNTED)
def hang_in_dumps(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield who holds up the others, on a line of each such rank and on that of the first rank that waits.

    - ``ledger.held_up``  late, late_hosts, by (``call``: it has not enqueued the call, ``device``: its peers ended the
      call, ``dump``: it wrote no dump), seq, op, group, waiting (number of ranks that wait), last_op, last_seq, frame
      (of the call, or of its last one), and where it stands by its stack, see `standing`
      Without dumps that tell it, the ranks that `counts` finds behind. Where these are others, nobody is late: by
      ``disputed``, named (by the dumps), counted
    - ``ledger.collective_mismatch``  all wait at one point in different calls, see `collectives`

    A rank without a dump is named only if no other is, because a dump may not have been collected.
    """
    dumps = {record.rank: record for record in t.of("flight_recorder.dump") if record.rank is not None}
    groups = _groups(t, dumps)
    waits = [wait for group in groups for wait in group.waits]
    still = {wait.who for group in groups for wait in group.waits if group.stands_still(wait)}
    late = sorted(still | {*awaited((), waits)})
    gave_up = {rank for e in t.of("gives up") if (rank := state.processes.rank_of(e)) is not None}
    counted = [e for e in behind(t, state, hangs=bool(waits or gave_up)) if _late(e).isdisjoint(gave_up)]
    if late and any(e.fields["by"] == "polls" and _late(e) and _late(e).isdisjoint(late) for e in counted):
        yield from _disputed(counted[0], waits[0], late)
    elif late:
        by = "device" if still.issuperset(late) else "call"
        yield from with_stacks("late", _held_up(groups, late, by, dumps, state), t, state)
    elif mismatch := [record for group in groups for record in _mismatch(group, state)]:
        yield from mismatch
    elif counted:
        yield from with_stacks("late", counted, t, state)
    elif missing := sorted({rank for group in groups for rank in _without_dump(group, dumps)}):
        yield from with_stacks("late", _held_up(groups, missing, "dump", dumps, state), t, state)


def _late(record: Record) -> set[Value]:
    late = record.fields.get("late")
    return {*late} if isinstance(late, tuple) else set()


def _disputed(counted: Record, wait: Wait, late: Sequence[int]) -> Iterator[Record]:
    """Yield that the dumps and the counts name different ranks, on a line of each."""
    fields = {"by": "disputed", "named": tuple(late), "counted": counted.fields["late"], "op": wait.call}
    for record in (wait.record, counted):
        yield derive_of_other("held_up", record, seq=wait.number, group=wait.group, **fields)


def _groups(t: Timeline, dumps: Collection[int]) -> list[Group]:
    """Return the groups in which ranks wait. The group of two dumps is one if its name and description are."""
    by_name: dict[tuple[str, str], dict[int, Record]] = {}
    for record in t.of("flight_recorder.group"):
        if record.rank is not None:
            key = str(record.fields.get("pg", "")), str(record.fields.get("description", ""))
            by_name.setdefault(key, {})[record.rank] = record
    groups = []
    for (name, description), records in sorted(by_name.items()):
        told = next((ranks for e in records.values() if isinstance(ranks := e.fields.get("members"), tuple)), ())
        members = tuple(rank for rank in told if isinstance(rank, int)) or tuple(sorted(records))
        group = Group(description or name, members, records, ())
        group.waits = [wait for rank in sorted(records) if (wait := _wait(group, rank, dumps))]
        if group.waits:
            groups.append(group)
    return groups


def _wait(group: Group, rank: int, dumps: Collection[int]) -> Wait | None:
    """Return the call in which a rank waits, and the members that have not enqueued it."""
    record = group.records[rank]
    number, size = record.fields.get("waits_in"), record.fields.get("size")
    if not isinstance(number, int):
        return None
    behind = tuple(other for other in group.members if other in dumps and group.count(other, "enqueued") < number)
    call = str(record.fields.get("op", ""))
    return Wait(rank, record, call, group.name, number, size if isinstance(size, int) else None, behind)


def _mismatch(group: Group, state: JobState) -> Iterator[Record]:
    """Yield how the calls differ, if all dumps of a group wait at one point."""
    compared = [wait for wait in group.waits if PACKED not in wait.call]
    if len(compared) == len(group.records) and len({wait.number for wait in compared}) == 1:
        sides = find_mismatch(compared, same_group=True)
        if sides:
            yield from mismatch_records(sides, len(group.members) - len(compared), state)


def _without_dump(group: Group, dumps: Collection[int]) -> list[int]:
    """Return the few members that wrote no dump, where all others wait."""
    missing = [rank for rank in group.members if rank not in dumps]
    is_told = len(group.waits) == len(group.records) and len(missing) * WAITING_PER_MISSING <= len(group.waits)
    return missing if is_told else []


def _held_up(
    groups: Sequence[Group], late: Sequence[int], by: str, dumps: Mapping[int, Record], state: JobState
) -> Iterator[Record]:
    """Yield the ranks that hold up the others, with the call that shows it of the first of them."""
    group, wait = next(found for found in _calls(groups, late, by))
    own = {rank: g.records[rank] for g in (*groups, group) for rank in late if rank in g.records}
    first = own.get(late[0])
    told = first.fields if first and len(late) == 1 else {}
    fields: dict[str, Value | None] = {
        "late": tuple(late),
        "late_hosts": tuple(state.processes.hosts_with(late)),
        "by": by,
        "seq": wait.number,
        "op": wait.call,
        "group": group.name,
        "waiting": len({w.who for g in groups for w in g.waits} - {*late}),
        "last_op": told.get("op") if "last_call" in told else None,
        "last_seq": told.get("last_call"),
        "frame": told.get("own_frame"),
    }
    for rank in late:
        if rank in own or rank in dumps:
            yield derive_record("held_up", own.get(rank) or dumps[rank], **fields)
    if wait.who not in late:
        yield derive_of_other("held_up", wait.record, **fields)


def _calls(groups: Sequence[Group], late: Sequence[int], by: str) -> Iterator[tuple[Group, Wait]]:
    """Yield the calls in which the first of the late ranks stands, or in which the others wait for it."""
    for group in groups:
        for wait in group.waits:
            is_it = wait.who == late[0] and group.stands_still(wait) if by == "device" else late[0] in wait.awaits
            if is_it or (by == "dump" and late[0] in group.members):
                yield group, wait

"""Ranks that stay behind by counts of collectives: polls of NCCL's RAS, and the measurements of its Inspector.

Ranks of a job that runs are often one or two calls apart, so one poll alone says nothing. Counts that stand still from
one poll to the next do, and so does a poll or a measurement of a job that is known to hang.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from logdoctor.model import Record, Value
from logdoctor.reasoning.derived import derive_of_other
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.questions import ranks_and_hosts
from logdoctor.reasoning.timeline import Timeline

WIDE_SPREAD = 3
"""Calls apart in one poll from which ranks differ. The poll of a job that runs finds them one or two apart."""
MIN_SECONDS = 60
"""From the first to the last poll of a standstill. A long step may keep the counts of a job that runs for a while."""
FEW = 2
"""At most one in so many ranks may be behind, else those ahead may have made a call too many."""
POLLED = ("nccl_ras.communicator", "nccl.ras_spread")
MEASURED = ("nccl_inspector.call",)
COUNTED = (*POLLED, *MEASURED)
_SHOWN = ("op", "fewest", "most", "calls", "odd", "ahead")


def behind(t: Timeline, state: JobState, *, hangs: bool) -> list[Record]:
    """Return the ranks that stay behind, as `held_up` records: late, late_hosts, pids, op, fewest, most, group, by.

    - by ``polls``    the counts stand still over several polls of RAS, whose number is ``polls``
    - by ``poll``     one poll finds them behind, and the job is known to hang
    - by ``measured`` the Inspector of other ranks wrote of many more calls, and the job is known to hang
    """
    groups = _polls(t)
    still = {group: count for group, polls in groups.items() if (count := _count_still(polls)) > 1}
    if groups and len(still) == len(groups):
        found = [_named(groups[group][-1], state, by="polls", polls=count) for group, count in still.items()]
    else:
        found = [_named(polls[-1], state, by="poll") for polls in groups.values()] if hangs else []
    told = [record for record in found if record]
    return told[:1] or (_measured(t, state) if hangs else [])


def _polls(t: Timeline) -> dict[str, list[Record]]:
    """Return the polls of each communicator as they were taken, the largest communicator first, as RAS lists them."""
    groups: dict[str, list[Record]] = {}
    for record in t.of(*POLLED):
        groups.setdefault(str(record.fields.get("comm_id")), []).append(record)
    for polls in groups.values():
        polls.sort(key=lambda poll: _time(poll) or 0)
    return groups


def _count_still(polls: Sequence[Record]) -> int:
    """Return the number of last polls that show the same counts, 1 if all may have been taken at one time."""
    shown = [[poll.fields.get(name) for name in _SHOWN] for poll in polls]
    alike = [
        poll for poll, _ in takewhile(lambda pair: pair[1] == shown[-1], zip(polls[::-1], shown[::-1], strict=True))
    ]
    times = [time for poll in alike if (time := _time(poll)) is not None]
    is_long = len(times) < len(alike) or max(times) - min(times) >= MIN_SECONDS
    return len(alike) if is_long else 1


def _time(poll: Record) -> float | None:
    """Return when a poll was taken, in seconds of a clock that all polls of its form share."""
    time = poll.fields.get("asked_s", poll.time)
    return time if isinstance(time, int | float) else None


def _named(poll: Record, state: JobState, **how: Value) -> Record | None:
    """Return the few ranks that are behind in a poll, if it tells them."""
    fields = poll.fields
    ranks, pids = (_numbers(fields.get(name)) for name in ("odd", "odd_pids"))
    told = fields.get("odd_hosts")
    hosts = tuple(map(str, told)) if isinstance(told, tuple) else ()
    size = fields.get("size")
    is_few = not isinstance(size, int) or max(len(ranks), len(pids)) * FEW <= size
    if fields.get("fewest") == fields.get("most") or not (ranks or pids) or not is_few:
        return None
    known = ranks or _ranks(hosts, pids, state)
    shown = {name: fields.get(name) for name in ("op", "fewest", "most")}
    return derive_of_other(
        "held_up", poll, late=known, late_hosts=hosts, pids=pids, group=fields.get("comm_id"), **shown, **how
    )


def _ranks(hosts: Sequence[str], pids: Sequence[int], state: JobState) -> tuple[int, ...]:
    """Return the ranks of processes of one host, if other records state all of them."""
    if len(hosts) != 1:
        return ()
    ranks = [rank for pid in pids if (rank := state.processes.rank_at(short_host(hosts[0]), pid)) is not None]
    return tuple(sorted(ranks)) if len(ranks) == len(pids) else ()


def _measured(t: Timeline, state: JobState) -> list[Record]:
    """Return the few members of a communicator whose last call lies far below that of the others."""
    groups: dict[str, dict[Value | None, Record]] = {}
    for record in t.of(*MEASURED):
        groups.setdefault(str(record.fields.get("comm_id")), {})[record.fields.get("group_rank")] = record
    for group, members in groups.items():
        last = [(seq, e) for e in members.values() if isinstance(seq := e.fields.get("seq"), int)]
        most = max((seq for seq, _ in last), default=0)
        late = [(seq, e) for seq, e in last if most - seq >= WIDE_SPREAD]
        size = next(iter(members.values())).fields.get("group_size")
        if late and len(last) == size and len(late) * FEW <= len(last):
            seq, first = min(late, key=lambda one: one[0])
            fields = {"op": first.fields.get("op"), "fewest": seq, "most": most, "group": group, "by": "measured"}
            return [derive_of_other("held_up", first, **ranks_and_hosts("late", [e for _, e in late], state), **fields)]
    return []


def _numbers(value: Value | None) -> tuple[int, ...]:
    return tuple(v for v in value if isinstance(v, int)) if isinstance(value, tuple) else ()

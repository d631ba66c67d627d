"""Ranks that wait in different calls, or for a silent rank, or lose it, by the exceptions of the waiting calls.

Only exceptions from the waiting call count (Gloo, blocking waits of NCCL). The watchdog of NCCL prints from a thread of
its own, so `collectives` reads its lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from logdoctor.model import Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.ends import SIGKILL
from logdoctor.reasoning.questions import MAX_RANKS, SEARCHED, asks, first_of_each, split_odd
from logdoctor.reasoning.questions.stacks import PAIRWISE, place_of
from logdoctor.reasoning.questions.waiting import Wait, awaited
from logdoctor.reasoning.timeline import Timeline

MIN_WAITING = 2
"""With one wait alone, other ranks may have been killed before they reported theirs."""
_TIMEOUT = later(
    r"Timed out waiting \d+ ?ms for (?:send|recv)|timed out in (?:call to wait\(\)|blocking wait)"
    r"|failed to pass monitoredBarrier"
)
_LOST_PEER = later(
    r"Connection closed by peer \[|Application timeout caused pair closure|reached monitoredBarrier, but rec"
)
"""Errors of the other ranks once the first rank has timed out."""
_SEND = later(r":i?send\w*$")


@asks("is ended", "fails", "gives up", "waits")
def blocked_calls(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield how the calls differ in which all ranks waited, or which rank did not wait.

    Each record stands on the exception of a rank that waited.

    - ``ledger.waits_differ``  all ranks waited, but not in the same call: function, others_function, odd, odd_hosts
      (the smaller side, absent where the sides are equal), others (their number), ranks_here, ranks_there (in function
      and in others_function), here, there (the program's own line with this call, if all of a side are in one)
    - ``ledger.all_send``      all ranks waited for a receiver of what they send: function, count
    - ``ledger.silent_rank``   all ranks but one waited: missing, missing_hosts, function, unresponsive. The missing
      rank reported no wait. The field ``unresponsive`` is ``yes`` if the launcher had to kill one process.
    """
    killed: set[int] = set()
    reported: set[int] = set()
    failures: list[Record] = []
    for record in t.of("is ended", "fails", "gives up", "waits"):
        if record.has("is ended", "named"):
            if record.fields.get("signal") == SIGKILL and record.pid is not None:
                killed.add(record.pid)
        elif record.has("fails", "named") and "other_ranks" in record.fields:
            others = record.fields["other_ranks"]
            ranks = (record.rank, *(others if isinstance(others, tuple) else ()))
            reported.update(r for r in ranks if isinstance(r, int))
        elif record.rank is not None and record.failing:
            failures.append(record)
    blocked = [e for e in failures if _timed_out(e) or _LOST_PEER.search(e.text[:SEARCHED])]
    first = first_of_each(blocked, lambda e: e.rank)
    if len(first) < MIN_WAITING or not any(map(_timed_out, first.values())):
        return
    expected = range(min(state.processes.expected or 0, MAX_RANKS))
    absent = awaited({*state.processes.ranks, *reported, *expected}, (Wait(rank, e) for rank, e in first.items()))
    failed = {e.rank for e in failures if e not in blocked}
    if len(absent) == 1 and absent[0] not in failed:
        yield _silent_rank(absent[0], first.values(), state, is_killed=len(killed) == 1)
    elif not absent and not failed - first.keys():
        places = {rank: place for rank, e in first.items() if (place := place_of(e)) is not None}
        waits = {rank: place for rank, place in places.items() if isinstance(place, Wait)}
        if len(waits) == len(first):
            yield from _compare(waits, state)


@asks("is ended", "fails", "gives up")
def silent_end(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.silent_end`` for the one rank that said nothing while all others lost peers: gone, gone_step.

    It stands on the last step of that rank, before which no other rank stopped. All that fails must be a lost peer, not
    a wait that ran into its limit, and no program may tell an end.
    """
    failures = [e for e in t.of("is ended", "fails", "gives up") if e.failing or e.has("is ended")]
    heard = {state.processes.rank_of(e) for e in failures}
    steps = {rank: step.fields.get("value") for rank, step in state.steps.by_rank().items() if t.holds(step)}
    silent = {*range(min(state.processes.min_world_size, MAX_RANKS))} - heard
    if len(heard) < MIN_WAITING or len(silent) != 1 or not all(map(_lost_peer, failures)):
        return
    (rank,) = silent
    counts = [step for step in steps.values() if isinstance(step, int)]
    if counts and steps.get(rank) == min(counts):
        yield derive_record("silent_end", state.steps.by_rank()[rank], gone=rank, gone_step=min(counts))


def _lost_peer(record: Record) -> bool:
    """Return whether a process lost others. One that ran into the limit of a wait did not."""
    lost = record.tells("about peers") if record.reports_own_end else record.has("gives up")
    return lost and not record.has("waits") and not record.has("is ended") and not _timed_out(record)


def _timed_out(record: Record) -> bool:
    return _TIMEOUT.search(record.text[:SEARCHED]) is not None


def _silent_rank(missing: int, waiting: Iterable[Record], state: JobState, *, is_killed: bool) -> Record:
    first = next(filter(_timed_out, waiting))
    place = place_of(first)
    return derive_record(
        "silent_rank",
        first,
        missing=(missing,),
        missing_hosts=state.processes.hosts_with((missing,)),
        function=_function(place.call) if place else "",
        unresponsive="yes" if is_killed else "no",
    )


def _compare(waits: Mapping[int, Wait], state: JobState) -> Iterator[Record]:
    """Compare the calls in which all ranks wait."""
    if all(_SEND.search(w.call) for w in waits.values()):
        first = next(iter(waits.values()))
        yield derive_record("all_send", first.record, function=_function(first.call), count=len(waits))
        return
    # by call, because ranks may reach the same barrier from different functions
    most, odd = split_odd({rank: wait.call for rank, wait in waits.items()})
    if not odd or any(PAIRWISE.search(w.call) for w in waits.values()):
        return  # pipeline stages wait in different calls by design
    odd_wait, usual_wait = waits[odd[0]], waits[most[0]]
    few = odd if len(odd) < len(most) else []
    for wait in (odd_wait, usual_wait):
        yield derive_record(
            "waits_differ",
            wait.record,
            function=_function(odd_wait.call),
            others_function=_function(usual_wait.call),
            others=len(most),
            ranks_here=tuple(rank for rank in odd if waits[rank].call == odd_wait.call),
            ranks_there=tuple(most),
            here=_own_frame(w for w in waits.values() if w.call == odd_wait.call),
            there=_own_frame(waits[rank] for rank in most),
            odd=tuple(few),
            odd_hosts=state.processes.hosts_with(few),
        )


def _own_frame(waits: Iterable[Wait]) -> str:
    """Return the innermost frame of the program itself, or "" if it differs."""
    frames = {str(wait.record.fields.get("own_frame", "")) for wait in waits}
    return frames.pop() if len(frames) == 1 else ""


def _function(call: str) -> str:
    return call.rpartition(":")[2]

"""Where each rank stood in the collectives of its groups when the job failed: the grid that the report draws.

It reads what the ledger of collectives has folded; it derives no event and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.model import CollectiveState, Moment, Record
from logdoctor.reasoning.detectors import Detector, collectives
from logdoctor.reasoning.job_state import JobState

MAX_STANDINGS = 4096
Key = tuple[str, int]
"""Group and rank."""


def standings_of(detector: Detector, state: JobState) -> tuple[CollectiveState, ...]:
    """The standings that ``ledger`` tells of, by group and rank; none if it is not that of collectives."""
    if not isinstance(detector, collectives.Detector):
        return ()
    stuck = _oldest(detector)
    states = {key: record for key, record in detector.states.items() if "last_enqueued" in record.fields}
    keys = sorted(stuck.keys() | states.keys())[:MAX_STANDINGS]
    return tuple(_standing(key, stuck.get(key), states.get(key)) for key in keys if _is_rank(key[1], state))


def _oldest(detector: collectives.Detector) -> dict[Key, collectives.Waiter]:
    """The collective that each rank reported first: a watchdog names the oldest one that is not complete."""
    oldest: dict[Key, collectives.Waiter] = {}
    for stuck in detector.waiters():
        known = oldest.get((stuck.group, stuck.rank))
        if known is None or stuck.seq < known.seq:
            oldest[stuck.group, stuck.rank] = stuck
    return oldest


def _standing(key: Key, stuck: collectives.Waiter | None, state: Record | None) -> CollectiveState:
    record = stuck.record if stuck else state
    numbers = dict(_numbers(state)) if state else {}
    return CollectiveState(
        group=key[0],
        rank=key[1],
        waits=stuck.seq if stuck else None,
        op=stuck.op if stuck else "",
        started=numbers.get("last_enqueued"),
        completed=numbers.get("last_completed"),
        at=Moment(record.line.file, record.line.number, record.time) if record else None,
    )


def _numbers(state: Record) -> Iterator[tuple[str, int]]:
    for name in ("last_enqueued", "last_completed"):
        value = state.fields.get(name)
        if isinstance(value, int):
            yield name, value


def _is_rank(number: int, state: JobState) -> bool:
    return number < (state.places.expected or 1 << 22)

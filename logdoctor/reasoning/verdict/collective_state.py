"""State of each rank in the collectives of its groups.

The report draws it as a grid. The module reads the memory of the detector of collectives. It derives no record and
decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from logdoctor.model import CollectiveState, Moment, Record
from logdoctor.reasoning.detectors import Detector, collectives
from logdoctor.reasoning.job_state import JobState

MAX_STATES = 4096
Key = tuple[str, int]
"""Group and rank."""


def collective_states(detectors: Iterable[Detector], state: JobState) -> tuple[CollectiveState, ...]:
    """Return the states that the detector of collectives knows, sorted by group and rank."""
    detector = next(d for d in detectors if isinstance(d, collectives.Detector))
    waiters = _oldest_collectives(detector)
    states = {key: record for key, record in detector.states.items() if "last_enqueued" in record.fields}
    keys = sorted(waiters.keys() | states.keys())[:MAX_STATES]
    return tuple(_state(key, waiters.get(key), states.get(key)) for key in keys if _is_rank(key[1], state))


def _oldest_collectives(detector: collectives.Detector) -> dict[Key, collectives.Waiter]:
    """Return the oldest incomplete collective of each rank.

    A watchdog reports each incomplete collective, the oldest has the lowest number.
    """
    oldest: dict[Key, collectives.Waiter] = {}
    for waiter in detector.waiters():
        previous = oldest.get((waiter.group, waiter.rank))
        if previous is None or waiter.seq < previous.seq:
            oldest[waiter.group, waiter.rank] = waiter
    return oldest


def _state(key: Key, waiter: collectives.Waiter | None, state: Record | None) -> CollectiveState:
    record = waiter.record if waiter else state
    numbers = dict(_numbers(state)) if state else {}
    return CollectiveState(
        group=key[0],
        rank=key[1],
        waits=waiter.seq if waiter else None,
        op=waiter.op if waiter else "",
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

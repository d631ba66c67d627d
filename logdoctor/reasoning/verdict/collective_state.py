"""State of each rank in the collectives of its groups.

The report draws it as a grid. It decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.model import CollectiveState, Moment, Record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.questions.collectives import list_states, list_waits
from logdoctor.reasoning.questions.waiting import UNKNOWN, Wait
from logdoctor.reasoning.timeline import Timeline

MAX_STATES = 4096
Key = tuple[str, int]
"""Group and rank."""


def collective_states(timeline: Timeline, state: JobState) -> tuple[CollectiveState, ...]:
    """Return the states of the ranks, sorted by group and rank."""
    waits = _oldest_waits(timeline)
    states = {key: record for key, record in list_states(timeline).items() if "last_enqueued" in record.fields}
    told = {key: _state(key, waits.get(key), states.get(key)) for key in waits.keys() | states.keys()}
    told |= {(dumped.group, dumped.rank): dumped for dumped in _dumped_states(timeline)}
    most = state.processes.expected or 1 << 22
    return tuple(told[key] for key in sorted(told)[:MAX_STATES] if key[1] < most)


def _dumped_states(timeline: Timeline) -> Iterator[CollectiveState]:
    """Yield how far each rank came in each group by the dump of its Flight Recorder."""
    for record in timeline.of("flight_recorder.group"):
        fields, waits = record.fields, _number(record.fields.get("waits_in"))
        if record.rank is not None:
            yield CollectiveState(
                group=str(fields.get("description") or fields.get("pg", "")),
                rank=record.rank,
                waits=waits,
                op=str(fields.get("op", "")) if waits is not None else "",
                started=_number(fields.get("enqueued")),
                completed=_number(fields.get("completed")),
                at=Moment(record.line.file, record.line.number, record.time),
            )


def _oldest_waits(timeline: Timeline) -> dict[Key, Wait]:
    """Return the oldest incomplete collective of each rank.

    A watchdog reports each incomplete collective, the oldest has the lowest number.
    """
    waits = [wait for wait in list_waits(timeline) if wait.number != UNKNOWN]
    return {(wait.group, wait.who): wait for wait in sorted(waits, key=lambda w: w.number, reverse=True)}


def _state(key: Key, wait: Wait | None, state: Record | None) -> CollectiveState:
    record = wait.record if wait else state
    fields = state.fields if state else {}
    return CollectiveState(
        group=key[0],
        rank=key[1],
        waits=wait.number if wait else None,
        op=wait.call if wait else "",
        started=_number(fields.get("last_enqueued")),
        completed=_number(fields.get("last_completed")),
        at=Moment(record.line.file, record.line.number, record.time) if record else None,
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None

"""Suspects: processes that stand apart from the others while no cause is known. A suspect is no culprit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from logdoctor.model import RankRow, Record, Suspect
from logdoctor.model.catalogue import Catalogue
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.processes import Seat
from logdoctor.reasoning.steps import place_of

MIN_RANKS = 3
"""Of two ranks, neither stands apart."""
ONE_BEHIND, SILENT_FIRST = 0.8, 0.5
"""Chances that the process which stands apart is the one at fault."""
SILENT_STEPS, SILENT_SECONDS = 3, 30.0
"""A rank was silent first if the others spoke on for so many steps and seconds."""


def find_suspects(state: JobState, rows: Sequence[RankRow], words: Catalogue) -> tuple[Suspect, ...]:
    """Return the only rank that is behind the others, else the only one that was silent before them."""
    steps = {rank: record for rank, record in state.steps.by_rank().items() if rank is not None}
    behind = _find_behind(steps)
    if behind is not None:
        fields, others = steps[behind].fields, max(map(place_of, steps.values()))[1]
        step, unit = f"{fields.get('value')}".partition("/")[0], fields.get("unit") or "step"
        why = words("suspect.behind", rank=behind, unit=unit, step=step, others=f"{others:g}")
        return (_suspect(behind, ONE_BEHIND, why, steps, state),)
    silent = _find_silent(rows, SILENT_STEPS * (state.steps.seconds() or 0.0))
    if silent is None:
        return ()
    return (_suspect(silent, SILENT_FIRST, words("suspect.silent", rank=silent), steps, state),)


def _find_behind(steps: Mapping[int, Record]) -> int | None:
    """Return the only rank whose last step is lower, if all others are at the same step."""
    units = {str(record.fields.get("unit", "")) for record in steps.values()}
    if len(steps) < MIN_RANKS or len(units) > 1:
        return None
    places = {rank: place_of(record) for rank, record in steps.items()}
    behind = [rank for rank, place in places.items() if place < max(places.values())]
    return behind[0] if len(behind) == 1 else None


def _find_silent(rows: Sequence[RankRow], gap: float) -> int | None:
    """Return the only rank whose last line is older than the last lines of all others."""
    heard = sorted((row.heard.time, row.rank) for row in rows if row.heard and row.heard.time is not None)
    if len(heard) < MIN_RANKS or len(heard) < len(rows):
        return None
    (first, rank), (second, _), *_ = heard
    return rank if second - first >= max(SILENT_SECONDS, gap) else None


def _suspect(rank: int, confidence: float, why: str, steps: Mapping[int, Record], state: JobState) -> Suspect:
    seat = state.processes.seats().get(rank, Seat())
    evidence = (state.evidence(steps[rank]),) if rank in steps else ()
    gpu = None if seat.gpu is None else str(seat.gpu)
    host = seat.host or (state.processes.host_of(steps[rank]) if rank in steps else None)
    return Suspect(rank, host, gpu, seat.pid, confidence, why, evidence)

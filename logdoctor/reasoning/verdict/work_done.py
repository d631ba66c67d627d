"""Work that a job did, by its progress, its checkpoints and its collectives."""

from __future__ import annotations

from logdoctor.model import JobSummary, Progress

MORE_THAN_START = 100
"""No start-up takes so many collectives."""


def did_work(job: JobSummary) -> bool:
    """Return whether the job did a step, so that it did not fail at its start."""
    collectives = (state.completed or state.waits or 0 for state in job.standings)
    stepped = job.last_progress is not None and job.last_progress.value.partition("/")[0].strip("0.")
    return bool(stepped) or job.last_checkpoint is not None or max(collectives, default=0) >= MORE_THAN_START


def is_further(before: Progress | None, now: Progress | None) -> bool:
    """Return whether ``now`` is beyond ``before``. If the units differ, any progress in ``now`` counts."""
    if before is None or now is None or before.unit != now.unit:
        return now is not None
    try:
        return _place(now) > _place(before)
    except ValueError:
        return False


def _place(progress: Progress) -> tuple[float, float]:
    """Return the epoch and the number of the step. ``120/500`` without an epoch gives (0.0, 120.0)."""
    return float(progress.epoch or 0), float(progress.value.partition("/")[0])

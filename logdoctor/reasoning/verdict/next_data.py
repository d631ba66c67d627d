"""Data to collect if the cause or the end is not known."""

from __future__ import annotations

from logdoctor.model import Record, Value
from logdoctor.model.catalogue import Catalogue
from logdoctor.reasoning.job_state import JobState

FORMATS = ("nccl", "c10d", "elastic", "openmpi", "mpich")
"""Formats with data of their own to collect, by the keys of the words."""


def collect_for_cause(state: JobState, first_failure: Record | None, words: Catalogue) -> tuple[str, ...]:
    """Return what to collect if the cause is not known, most useful first.

    It begins with the process whose output to read first, if the logs name it. The rest fits the formats of the log.
    """
    fitting = [words(f"collect.{name}") for name in FORMATS if name in state.formats]
    return (*_begin_with(state, first_failure, words), *fitting, *_ask_scheduler(state, words), words("collect.kernel"), words("collect.stacks"))


def collect_for_end(state: JobState, words: Catalogue) -> tuple[str, ...]:
    """Return what to collect if no end is seen."""
    return (*_ask_scheduler(state, words), words("collect.hung"), words("collect.end"))


def _ask_scheduler(state: JobState, words: Catalogue) -> list[str]:
    if "slurm" not in state.formats:
        return []
    return [words("collect.slurm.job", job=state.job_id) if state.job_id else words("collect.slurm")]


def _begin_with(state: JobState, first_failure: Record | None, words: Catalogue) -> list[str]:
    """Return which output to read first.

    Candidates in order: the process that surely ended first, the process that a launcher names, the rank of the first
    failure.
    """
    if (died := state.named_ends.first_death) is not None:
        how = None if died.fields.keys().isdisjoint(("signal", "exit_code", "exception")) else died.fields["how"]
        return [_fill("collect.died", died.fields.get("rank"), died.fields.get("host"), how, words)]
    if first_failure is None:
        return []
    named = state.named_ends.ends_in_attempt_of(first_failure)
    for key, record in [*(("collect.noticed", end) for end in named[:1]), ("collect.failed", first_failure)]:
        if (rank := state.places.rank_of(record)) is not None:
            return [_fill(key, rank, state.places.host_of(record), None, words)]
    return []


def _fill(key: str, rank: Value | None, host: Value | None, how: Value | None, words: Catalogue) -> str:
    """Return the sentence with the name of the process.

    The name is ``rank 3 on node-b``, or ``the process`` without a rank.
    """
    process = words("collect.rank", rank=rank) if rank is not None else words("collect.process")
    name = words("collect.on", process=process, host=host) if host else process
    return words(key, process=name, how=words("collect.how", how=how) if how else "")

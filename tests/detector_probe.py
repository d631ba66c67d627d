"""Records that a detector derives from a text."""

from __future__ import annotations

from typing import Any

from logdoctor.logs.line_parser import parse_text
from logdoctor.model import Record
from logdoctor.reasoning.dispatch import Dispatch
from logdoctor.reasoning.job_state import JobState


def derive(detector: Any, text: str, state: JobState | None = None) -> list[Record]:
    state = state or JobState()
    observe = Dispatch([*state.readers, detector])
    for record in parse_text(text):
        observe(record)
    return [*detector.derive(state)]


def by_name(records: list[Record]) -> dict[str, Record]:
    """Return the first record of each kind, by the kind without ``ledger.``."""
    return {e.kind.partition(".")[2]: e for e in reversed(records)}

"""Conclusions of a question from a text or from records made by hand."""

from __future__ import annotations

from logdoctor.logs.line_parser import parse_text
from logdoctor.model import Record
from logdoctor.reasoning.dispatch import Dispatch
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.questions import Question, new_timeline


class Probe:
    """A timeline and the state of a job, which read the same records."""

    def __init__(self, state: JobState | None = None) -> None:
        self.state, self.timeline = state or JobState(), new_timeline()
        self.observe = Dispatch([*self.state.readers, self.timeline])

    def ask(self, *questions: Question) -> list[Record]:
        return [record for question in questions for record in question(self.timeline, self.state)]


def derive(question: Question, text: str, state: JobState | None = None) -> list[Record]:
    """Return what a question concludes from a text."""
    probe = Probe(state)
    for record in parse_text(text):
        probe.observe(record)
    return probe.ask(question)


def by_name(records: list[Record]) -> dict[str, Record]:
    """Return the first record of each kind, by the kind without ``ledger.``."""
    return {e.kind.partition(".")[2]: e for e in reversed(records)}

"""The outcome of an experiment as a line, and the table of all outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WORDS = {
    "same": "made anew, with the approved answer",
    "differs": "made anew and right, but not with the approved answer: read it and approve it",
    "new": "made for the first time: read its answer and approve it",
    "there": "was made before (--again makes it anew)",
    "known": "not made: known to be diagnosed wrongly",
    "skipped": "not made: this machine lacks what it needs",
    "wrong": "run, but logdoctor does not find the truth in it",
    "failed": "could not be run to its end",
}
BAD = ("wrong", "failed")


@dataclass(frozen=True)
class Outcome:
    case: str
    word: str
    """One of WORDS."""
    why: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.word:8} {self.case:44} {self.seconds:5.0f} s  {self.why}"


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the numbers of outcomes, and the cases that need attention."""
    lines = [""]
    for word, meaning in WORDS.items():
        if same := [o for o in outcomes if o.word == word]:
            lines.append(f"{len(same):4} {word:8} {meaning}")
            lines += _reasons(same) if word not in {"same", "there"} else []
    minutes = sum(o.seconds for o in outcomes) / 60
    return "\n".join([*lines, f"{len(outcomes):4} experiments in {minutes:.0f} minutes"])


def _reasons(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a line for each reason with the cases that share it."""
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        reasons.setdefault(outcome.why, []).append(outcome.case)
    return [f"     - {why}: {', '.join(cases)}" for why, cases in reasons.items()]

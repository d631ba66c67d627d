"""What differs between a good and a bad run of the same job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from logdoctor.model.answer import Diagnosis, Novel

COMPARISON_SCHEMA = "logdoctor.comparison/1"

Topic = Literal["outcome", "versions", "environment", "layout", "hosts", "interfaces", "transports"]


@dataclass(frozen=True, slots=True)
class Difference:
    """What ``name`` is in the good run and in the bad one; "" where that run does not tell."""

    topic: Topic
    name: str
    good: str
    bad: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two diagnoses, what differs, and the messages that only one run printed, the most telling first."""

    good: Diagnosis
    bad: Diagnosis
    differences: tuple[Difference, ...] = ()
    only_good: tuple[Novel, ...] = ()
    only_bad: tuple[Novel, ...] = ()

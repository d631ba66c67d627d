"""What differs between a good and a bad run of the same job."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from logdoctor.model.answer import Diagnosis, Novel

COMPARISON_SCHEMA = "logdoctor.comparison/1"

Topic = Literal["outcome", "versions", "environment", "layout", "hosts", "interfaces", "transports"]


class Difference(Struct, frozen=True):
    """What ``name`` is in the good run and in the bad one; "" where that run does not tell."""

    topic: Topic
    name: str
    good: str
    bad: str


class Comparison(Struct, frozen=True):
    """Two diagnoses, what differs, and the messages that only one run printed, the most telling first."""

    good: Diagnosis
    bad: Diagnosis
    differences: tuple[Difference, ...] = ()
    only_good: tuple[Novel, ...] = ()
    only_bad: tuple[Novel, ...] = ()

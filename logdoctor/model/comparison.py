"""Differences between a good and a bad run of the same job."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Struct

from logdoctor.model.answer import Diagnosis, Novel

COMPARISON_SCHEMA = "logdoctor.compare/1"

Topic = Literal["outcome", "versions", "environment", "layout", "hosts", "interfaces", "transports"]


class Difference(Struct, frozen=True):
    """A value that differs between the good and the bad run."""

    topic: Topic
    """The part of the job that differs."""
    name: str
    """The name of the value, for example a product or a setting."""
    good: str
    """The value in the good run, "" if its log does not tell."""
    bad: str
    """The value in the bad run, "" if its log does not tell."""


class Comparison(Struct, frozen=True):
    """Two diagnoses and their differences."""

    schema: ClassVar[str] = COMPARISON_SCHEMA

    good: Diagnosis
    """The diagnosis of the good run."""
    bad: Diagnosis
    """The diagnosis of the bad run."""
    differences: tuple[Difference, ...] = ()
    """Values that differ."""
    only_good: tuple[Novel, ...] = ()
    """Messages that only the good run printed, the most telling first."""
    only_bad: tuple[Novel, ...] = ()
    """Messages that only the bad run printed, the most telling first."""

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-ready data of the schema ``logdoctor.compare/1``."""
        from logdoctor.model.json_form import to_dict

        return to_dict(self)

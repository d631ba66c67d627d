"""Facts: typed values that the lines at a proof tell."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Literal, get_args

from msgspec import Struct

from logdoctor.model.log import Line, Scalar, Source
from logdoctor.model.numbers import format_duration, format_size

FactType = Literal[
    "size",
    "count",
    "time",
    "name",
    "address",
    "version",
    "setting",
    "members",
    "state",
    "path",
    "frame",
    "reason",
    "code",
    "identity",
    "end",
    "advice",
]
FACT_TYPES = frozenset(get_args(FactType))
ABSENCES = frozenset({"frames", "names", "reason", "sender"})
"""Sorts of evidence that are looked for around a proof."""
Place = Literal["proof", "block", "above", "below"]
"""Place of a line: the proof itself, another line of its record, or a line above or below that record."""
Kin = Literal["same", "open", "other"]
"""Whether a line is of the process of the proof; open: no prefix tells."""


class Fact(Struct, frozen=True):
    """A value that a line near the proof tells."""

    type: FactType
    """The sort of value."""
    role: str
    """Its part, for example wanted, free or limit of a size; empty if no word beside the value tells it."""
    value: Scalar | tuple[str | int, ...]
    """The value, in ``unit``."""
    line: Line
    """The line that tells it."""
    unit: str = ""
    """B for bytes, s for seconds; empty for what is only counted or named."""
    of: str = ""
    """The thing that the value belongs to, for example a device, a library or a parameter."""
    said: str = ""
    """The words of the line that tell it, as printed."""


def say_fact(fact: Fact, lang: str = "en") -> str:
    """Return the value as people say it: 30 min, 1.75 GiB, 2, 3."""
    if isinstance(fact.value, tuple):
        return ", ".join(map(str, fact.value))
    if isinstance(fact.value, int | float):
        if fact.unit == "B":
            return format_size(round(fact.value))
        if fact.unit == "s":
            return format_duration(fact.value, lang)
    return f"{fact.value} {fact.unit}".strip()


class Said(Struct, frozen=True):
    """A line near a proof, without its prefixes."""

    line: Line
    text: str
    source: Source
    place: Place
    kin: Kin

    @property
    def is_of_proof(self) -> bool:
        """Return whether the line is the proof or of its block."""
        return self.place in ("proof", "block")


class Examination(Struct, frozen=True):
    """What the lines around a proof show."""

    facts: tuple[Fact, ...] = ()
    """Facts of the proof, of its block, and of lines that were joined to it."""
    absent: Container[str] = ()
    """Sorts of evidence that were looked for around the proof and not found, of `ABSENCES`."""


Examinations = Mapping[tuple[str, int], Examination]
"""Examinations by file and number of the lines of their proofs."""

"""What stands in front of the lines of one record, put there by a collector that no wrapper knows."""

from __future__ import annotations

from logdoctor.parsers.record import Bare
from logdoctor.regexes import later

_DIGIT = later(r"\d")


def bears(bare: Bare, prefix: str) -> bool:
    """Whether the line begins with ``prefix``, the digits of its time or number aside."""
    start = bare.text[: len(prefix)]
    return start == prefix or _DIGIT.sub("0", start) == _DIGIT.sub("0", prefix)


def behind(bare: Bare, prefix: str) -> Bare:
    """The line without the prefix that it bears."""
    return Bare(bare.text[len(prefix) :], bare.speaker, bare.below)

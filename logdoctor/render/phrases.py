"""Short phrases of a document: a title as the end of a sentence, progress, sizes, places."""

from __future__ import annotations

import re

from logdoctor.model import Diagnosis, Evidence, Line, Progress
from logdoctor.model.numbers import with_commas
from logdoctor.model.times import iso_time
from logdoctor.render.catalogue import Catalogue

LIKELY, CERTAIN = 0.6, 0.9
"""Confidence from which an answer is probable, and certain."""
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_OF = re.compile(r"(\d+)\s*/\s*(\d+)")
_YEAR = 366 * 86_400
"""Times of the first year are those of lines without a year."""


def continue_sentence(text: str, words: Catalogue) -> str:
    """Return a sentence as it stands behind a dash: "Rank 3 was killed." becomes "rank 3 was killed".

    Only common first words lose their capital, because others are names.
    """
    text = text[:-1] if text.endswith((".", "。")) and not text.endswith("..") else text
    first = text.partition(" ")[0]
    return f"{text[0].lower()}{text[1:]}" if first in words("common").split() else text


def guarded(text: str, confidence: float, words: Catalogue) -> str:
    """Return ``text`` as a probable cause unless it is certain."""
    return text if confidence >= CERTAIN else words("probably", text=text)


def location(evidence: Evidence | Line) -> str:
    """Return ``file:line``, which editors and terminals can open, or ``file:field`` in a document of one line."""
    line = evidence.line if isinstance(evidence, Evidence) else evidence
    return f"{line.file}:{line.field}" if line.field and line.number == 1 else f"{line.file}:{line.number}"


def is_link(reference: str) -> bool:
    """Return True for a plain web address. Formats make it a link."""
    return re.fullmatch(r"https?://[A-Za-z0-9./?=&%#:~_+,;-]+", reference) is not None


def progress_phrase(progress: Progress, words: Catalogue) -> str:
    """Return "step 4,210 of 20,000"."""
    of = _OF.fullmatch(progress.value)
    value = words("of", n=with_commas(of[1]), all=with_commas(of[2])) if of else with_commas(progress.value)
    return words("progress.last", unit=progress.unit, value=value).strip()


def clock_time(time: float | None) -> str:
    """Return "2026-11-22 02:14:07", or "02:14:07" for a time of which the year is not known."""
    date, _, clock = (iso_time(time) or "").partition("T")
    clock = clock.partition(".")[0]
    return clock if time is not None and abs(time) < _YEAR else f"{date} {clock}".strip()


def size(number: int) -> str:
    """Return bytes in decimal units: 118 MB, 4.2 kB."""
    value, unit = float(number), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    digits = 1 if unit and value < 99.95 else 0
    return f"{value:.{digits}f} {_UNITS[unit]}"


def what_was_read(diagnosis: Diagnosis, words: Catalogue) -> str:
    """Return "Read all of 3 files, 118 MB"."""
    coverage = diagnosis.coverage
    key = "read.part" if diagnosis.problems else "read.all"
    return words(key, files=words.count("file", coverage.files), size=size(coverage.bytes))

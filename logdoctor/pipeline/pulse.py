"""The heartbeat of a job, read from the excerpts of its logs.

Masking is slow, so numbers are replaced and nothing else.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from logdoctor.logs.line_parser import read_message
from logdoctor.model import Line
from logdoctor.pipeline.excerpts import Excerpt
from logdoctor.pipeline.new_templates import MAX_LINES, NUMBERS
from logdoctor.reasoning.lifecycle.heartbeat import MAX_NUMBERS, Heartbeat, Printed, find_beats

STAMPS = re.compile(
    r"\b\d{4}[-/.]\d\d[-/.]\d\d\b|\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?\b|\b\d{9,}(?:\.\d+)?\b|^\[? *\d+\.\d+\]?"
)
"""Times and serial numbers, which rise whatever the program does."""
NUMBER = re.compile(r"(?<![\w.])\d{1,12}(?:\.\d{1,6})?(?![\w.]*[a-fA-F]\d)")


def listen(logs: Sequence[Excerpt]) -> Heartbeat:
    """Return the heartbeat of the logs."""
    return Heartbeat({log.name: beats for log in logs if (beats := find_beats(_printed(log), _time_of))})


def _time_of(line: Line) -> float | None:
    return read_message(line.text).source.time


def _printed(log: Excerpt) -> Iterator[Printed]:
    """Yield the lines of the start and the end of a log, each once."""
    last = 0
    for line in itertools.islice((*log.first_lines(), *log.last_lines()), MAX_LINES):
        if line.number > last and line.text.strip():
            last, text = line.number, STAMPS.sub("", line.text)
            numbers = tuple(float(number) for number in NUMBER.findall(text)[:MAX_NUMBERS])
            yield Printed(line, NUMBERS.sub("0", text), numbers)

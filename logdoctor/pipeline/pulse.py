"""The heartbeat of a job, read from the excerpts of its logs.

Masking is slow, so numbers are replaced and nothing else.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from logdoctor.logs.error_wording import reports_error
from logdoctor.logs.line_parser import LineParser, read_message
from logdoctor.model import Candidate, Line
from logdoctor.pipeline.new_templates import MAX_LINES, NUMBERS, Excerpt
from logdoctor.reasoning.lifecycle.heartbeat import MAX_NUMBERS, Heartbeat, Printed, find_beats

TAIL_LINES = 3
"""Last lines of a log in which a complaint may be the reason of its end."""
STAMPS = re.compile(
    r"\b\d{4}[-/.]\d\d[-/.]\d\d\b|\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?\b|\b\d{9,}(?:\.\d+)?\b|^\[? *\d+\.\d+\]?"
)
"""Times and serial numbers, which rise whatever the program does."""
NUMBER = re.compile(r"(?<![\w.])\d{1,12}(?:\.\d{1,6})?(?![\w.]*[a-fA-F]\d)")


def listen(logs: Sequence[Excerpt], search: Callable[[bytes], Sequence[int]], *, alarms: bool) -> Heartbeat:
    """Return the complaint with which one of the logs ends, and if there are ``alarms``, the heartbeat of the logs.

    ``search`` returns the patterns that a text may hold.
    """
    beats = {log.name: found for log in logs if alarms and (found := find_beats(_printed(log), _time_of))}
    return Heartbeat(beats, next((line for log in logs if (line := _complaint(log, search))), None))


def _time_of(line: Line) -> float | None:
    return read_message(line.text).source.time


def _complaint(log: Excerpt, search: Callable[[bytes], Sequence[int]]) -> Line | None:
    """Return the first complaint among the last lines that no earlier line resembles.

    A line that a format knows is none, because its record was judged already.
    """
    tail = log.tail(TAIL_LINES)
    complaints = [line for line in tail if _complains(line.text) and not _is_known(line.text.encode(), search)]
    if not complaints:
        return None
    earlier = {printed.template for printed in _printed(log) if printed.line.number < tail[0].number}
    return next((line for line in complaints if _template(line.text) not in earlier), None)


def _is_known(raw: bytes, search: Callable[[bytes], Sequence[int]]) -> bool:
    return bool(LineParser("", search).parse(Candidate(raw, 1, tuple(search(raw)), lambda: iter(()))))


def _template(text: str) -> str:
    return NUMBERS.sub("0", STAMPS.sub("", text))


def _printed(log: Excerpt) -> Iterator[Printed]:
    """Yield the lines of the start and the end of a log, each once."""
    last = 0
    for line in itertools.islice((*log.first_lines(), *log.last_lines()), MAX_LINES):
        if line.number > last and line.text.strip():
            last, text = line.number, STAMPS.sub("", line.text)
            numbers = tuple(float(number) for number in NUMBER.findall(text)[:MAX_NUMBERS])
            yield Printed(line, NUMBERS.sub("0", text), numbers)


def _complains(text: str) -> bool:
    """Return whether the line reports an error, and its prefix calls it nothing less."""
    message = read_message(text)
    return message.source.level in (None, "error", "fatal") and reports_error(message.text)

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
from logdoctor.reasoning.lifecycle.heartbeat import MAX_NUMBERS, Heartbeat, Printed, find_beats, find_complaint

TAIL_LINES = 3
"""Last lines of a log in which a complaint may be the reason of its end."""
STAMPS = re.compile(
    r"\b\d{4}[-/.]\d\d[-/.]\d\d\b|\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?\b|\b\d{9,}(?:\.\d+)?\b|^\[? *\d+\.\d+\]?"
)
"""Times and serial numbers, which rise whatever the program does."""
NUMBER = re.compile(r"(?<![\w.])\d{1,12}(?:\.\d{1,6})?(?![\w.]*[a-fA-F]\d)")


def listen(logs: Sequence[Excerpt], search: Callable[[bytes], Sequence[int]]) -> Heartbeat:
    """Return the heartbeat of the logs, and the complaint with which one of them ends.

    ``search`` returns the patterns that a text may hold.  A line that a format knows is no complaint, because its
    record was judged already.
    """

    def complains(text: str) -> bool:
        if not _complains(text):
            return False
        raw = text.encode()
        return not LineParser("", search).parse(Candidate(raw, 1, tuple(search(raw)), lambda: iter(())))

    beats, complaint = dict[str, Sequence[Line]](), None
    for log in logs:
        printed = list(itertools.islice(_printed(log), MAX_LINES))
        if found := find_beats(printed, lambda line: read_message(line.text).source.time):
            beats[log.name] = found
        complaint = complaint or find_complaint(printed, TAIL_LINES, complains)
    return Heartbeat(beats, complaint)


def _printed(log: Excerpt) -> Iterator[Printed]:
    """Yield the lines of the start and the end of a log, each once."""
    last = 0
    for line in (*log.first_lines(), *log.last_lines()):
        if line.number > last and line.text.strip():
            last, text = line.number, STAMPS.sub("", line.text)
            numbers = tuple(float(number) for number in NUMBER.findall(text)[:MAX_NUMBERS])
            yield Printed(line, NUMBERS.sub("0", text), numbers)


def _complains(text: str) -> bool:
    """Return whether the line reports an error, and its prefix calls it nothing less."""
    message = read_message(text)
    return message.source.level in (None, "error", "fatal") and reports_error(message.text)

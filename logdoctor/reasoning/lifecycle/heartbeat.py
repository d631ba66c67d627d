"""Heartbeat of a program whose lines no format knows.

A template that a log prints again and again, with a number that never falls, shows that the program works:
``done 12 of 80``.  A table that is printed at once looks the same, so time must pass, or other lines must stand
between.  A heartbeat says that the program is alive.  It refutes only alarms that no rule knows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from logdoctor.model import Line, Record

MIN_BEATS = 5
MANY_BEATS = 50
"""So many rows are no table."""
MIN_SECONDS = 1.0
MAX_NUMBERS = 8
BEATS_AFTER = 3
"""Number of beats after an alarm that refute it."""


class Printed(Struct, frozen=True):
    """Line of a log with its template and the numbers in it."""

    line: Line
    template: str
    numbers: tuple[float, ...]


TimeOf = Callable[[Line], float | None]


class Heartbeat(Struct, frozen=True):
    """Lines of the heartbeat of each log."""

    beats: Mapping[str, Sequence[Line]] = {}

    def beats_after(self, alarm: Record) -> Line | None:
        """Return the last beat if the log of ``alarm`` beats on after it."""
        lines = [line for line in self.beats.get(alarm.line.file, ()) if line.number > alarm.line.number]
        return lines[-1] if len(lines) >= BEATS_AFTER else None


SILENCE = Heartbeat()


Listen = Callable[[], Heartbeat]
"""Function that returns the heartbeat of the job."""
Hear = Callable[[Line, Line], Line | None]
"""Function that returns the last line in which the program works on behind the first and the last of its complaints."""


def hear_nothing(_first: Line, _last: Line) -> None:
    """Return no line, because no log is kept."""


def find_beats(printed: Iterable[Printed], time_of: TimeOf) -> list[Line]:
    """Return the lines of the template that beats last in one log, in their order."""
    groups: dict[str, list[Printed]] = {}
    for one in printed:
        if one.numbers:
            groups.setdefault(one.template, []).append(one)
    beating = [group for group in groups.values() if _beats(group, time_of)]
    last = max(beating, key=lambda group: group[-1].line.number, default=[])
    return [one.line for one in last]


def _beats(group: Sequence[Printed], time_of: TimeOf) -> bool:
    if len(group) < MIN_BEATS or not any(_rises(column) for column in zip(*(p.numbers for p in group), strict=False)):
        return False
    first, last = group[0].line, group[-1].line
    if len(group) >= MANY_BEATS or last.number - first.number >= len(group):
        return True
    start, end = time_of(first), time_of(last)
    return start is not None and end is not None and end - start >= MIN_SECONDS


def _rises(column: Sequence[float]) -> bool:
    return column[-1] > column[0] and all(a <= b for a, b in itertools.pairwise(column))

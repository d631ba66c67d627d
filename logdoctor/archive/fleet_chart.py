"""Layout of an SVG chart of failures over time (stacked bars).

Horizontal positions are in percent of the width, vertical positions in pixels from the top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from logdoctor.archive.fleet import Fleet, place_of

COLORS = 8
"""Number of causes with a colour of their own.  All other causes share one colour."""
OTHER = ""
HEIGHT = 180
MAX_LABELS = 12
GAP = 0.18
"""Share of a bar's width that stays empty."""
LEAST_WIDTH = 0.2
"""Width of a bar, in percent, that is still seen."""
STEPS = (1, 2, 5)


class Segment(Struct, frozen=True):
    """Failures of one cause in one bar.  ``color`` is 1 to `COLORS`, or 0 for all other causes."""

    color: int
    name: str
    count: int
    y: float
    height: float


class Bar(Struct, frozen=True):
    """A period with ``jobs`` diagnosed jobs, of which ``failed`` failed."""

    name: str
    x: float
    middle: float
    width: float
    failed: int
    jobs: int
    segments: tuple[Segment, ...]
    label: str
    spare: bool
    """True for every second label: it is left out where there is little room."""


class Chart(Struct, frozen=True):
    """A chart with bars from left to right. A grid line is (y, value), a legend entry is (color, cause, count)."""

    bars: tuple[Bar, ...]
    grid_lines: tuple[tuple[float, int], ...]
    legend: tuple[tuple[int, str, int], ...]
    height: int = HEIGHT


def make_chart(fleet: Fleet) -> Chart:
    """Lay out a bar for each period, to scale. The chart is empty if no failure has a date."""
    colors = {tally.name: number for number, tally in enumerate(fleet.causes[:COLORS], 1)}
    highest = max((sum(counts.values()) for _, counts in fleet.periods), default=0)
    if not highest:
        return Chart((), (), ())
    step = _grid_step(highest)
    top = math.ceil(highest / step) * step
    places = [place_of(name, fleet.period) for name, _ in fleet.periods]
    width = 100 / (places[-1] - places[0] + 1)
    labelled = _labelled(places)
    bars = tuple(
        Bar(
            name,
            x=round((place - places[0] + GAP / 2) * width, 3),
            middle=round((place - places[0] + 0.5) * width, 3),
            width=round(max((1 - GAP) * width, LEAST_WIDTH), 3),
            failed=sum(counts.values()),
            jobs=fleet.diagnosed_in.get(name, 0),
            segments=_segments(counts, colors, top),
            label=_label(name) if place in labelled else "",
            spare=labelled.get(place, 0) % 2 == 1,
        )
        for place, (name, counts) in zip(places, fleet.periods, strict=True)
    )
    grid_lines = tuple((round(HEIGHT * (1 - value / top), 2), value) for value in range(0, top + 1, step))
    return Chart(bars, grid_lines, tuple(_legend(fleet, colors)))


def _labelled(places: Sequence[int]) -> dict[int, int]:
    """Return the places of the bars with a label, numbered from the left, with room between them."""
    room = math.ceil((places[-1] - places[0] + 1) / MAX_LABELS)
    chosen: dict[int, int] = {}
    for place in places:
        if not chosen or place - next(reversed(chosen)) >= room:
            chosen[place] = len(chosen)
    return chosen


def _segments(counts: dict[str, int], colors: dict[str, int], top: int) -> tuple[Segment, ...]:
    colored = sorted((colors[name], name, count) for name, count in counts.items() if name in colors)
    others = sum(count for name, count in counts.items() if name not in colors)
    segments, y = [], float(HEIGHT)
    for color, name, count in (*colored, *([(0, OTHER, others)] if others else [])):
        height = HEIGHT * count / top
        y -= height
        segments.append(Segment(color, name, count, round(y, 2), round(height, 2)))
    return tuple(segments)


def _legend(fleet: Fleet, colors: dict[str, int]) -> list[tuple[int, str, int]]:
    colored = [(colors[tally.name], tally.name, tally.count) for tally in fleet.causes[:COLORS]]
    others = sum(tally.count for tally in fleet.causes[COLORS:])
    return [*colored, (0, OTHER, others)] if others else colored


def _grid_step(highest: int) -> int:
    """Return the distance of the grid lines, such as 20 for 87.

    It is a round number that gives about three to six lines.
    """
    power = 10 ** max(0, math.floor(math.log10(highest)) - 1)
    return next((n * p for p in (power, power * 10) for n in STEPS if highest <= 5 * n * p), highest)


def _label(name: str) -> str:
    """Return a day without its year, a month unchanged."""
    return name if len(name) == 7 else name[5:]

"""Failures over time as stacked bars: places in per cent across and in pixels down, for a picture without scripts."""

from __future__ import annotations

import math

from msgspec import Struct

from logdoctor.scan.fleet import Fleet

KINDS = 8
"""So many causes have a colour of their own; the others share one."""
OTHER = ""
HEIGHT = 180
MOST_LABELS = 12
GAP = 0.18
STEPS = (1, 2, 5)


class Part(Struct, frozen=True):
    """Failures of one cause (``kind`` 1 to `KINDS`; 0: the others) in one bar."""

    kind: int
    name: str
    count: int
    y: float
    height: float


class Bar(Struct, frozen=True):
    """One period: ``seen`` jobs of which ``count`` failed; ``label`` is what stands below it, if anything does."""

    name: str
    x: float
    middle: float
    width: float
    count: int
    seen: int
    parts: tuple[Part, ...]
    label: str


class Chart(Struct, frozen=True):
    """Bars from the left to the right, lines of the scale from below, and what the colours mean."""

    bars: tuple[Bar, ...]
    lines: tuple[tuple[float, int], ...]
    legend: tuple[tuple[int, str, int], ...]
    height: int = HEIGHT


def chart_of(fleet: Fleet) -> Chart:
    """The bars of all periods of ``fleet``; none where no failure has a date."""
    kinds = {tally.name: number for number, tally in enumerate(fleet.causes[:KINDS], 1)}
    most = max((sum(counts.values()) for _, counts in fleet.periods), default=0)
    if not most:
        return Chart((), (), ())
    step = _step(most)
    top = math.ceil(most / step) * step
    every = math.ceil(len(fleet.periods) / MOST_LABELS)
    width = 100 / len(fleet.periods)
    bars = tuple(
        Bar(
            name,
            x=round((number + GAP / 2) * width, 3),
            middle=round((number + 0.5) * width, 3),
            width=round((1 - GAP) * width, 3),
            count=sum(counts.values()),
            seen=fleet.seen.get(name, 0),
            parts=_parts(counts, kinds, top),
            label="" if number % every else _short(name),
        )
        for number, (name, counts) in enumerate(fleet.periods)
    )
    lines = tuple((round(HEIGHT * (1 - value / top), 2), value) for value in range(0, top + 1, step))
    return Chart(bars, lines, tuple(_legend(fleet, kinds)))


def _parts(counts: dict[str, int], kinds: dict[str, int], top: int) -> tuple[Part, ...]:
    told = sorted((kinds[name], name, count) for name, count in counts.items() if name in kinds)
    others = sum(count for name, count in counts.items() if name not in kinds)
    parts, y = [], float(HEIGHT)
    for kind, name, count in (*told, *([(0, OTHER, others)] if others else [])):
        height = HEIGHT * count / top
        y -= height
        parts.append(Part(kind, name, count, round(y, 2), round(height, 2)))
    return tuple(parts)


def _legend(fleet: Fleet, kinds: dict[str, int]) -> list[tuple[int, str, int]]:
    named = [(kinds[tally.name], tally.name, tally.count) for tally in fleet.causes[:KINDS]]
    others = sum(tally.count for tally in fleet.causes[KINDS:])
    return [*named, (0, OTHER, others)] if others else named


def _step(most: int) -> int:
    """A round number of which three to six make ``most``."""
    power = 10 ** max(0, math.floor(math.log10(most)) - 1)
    return next((n * p for p in (power, power * 10) for n in STEPS if most <= 5 * n * p), most)


def _short(name: str) -> str:
    """The month of a month, else the day without its year."""
    return name if len(name) == 7 else name[5:]

"""The grid of ranks and collectives: who had done what, who waited in what, and who had not started it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from logdoctor.model import JobPicture, Standing
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.entity_names import ranges

_MOST_COLUMNS, _MOST_ROWS, _MOST_GRIDS, _MOST_RANGES = 10, 24, 3, 6

State = Literal["done", "waits", "started", "absent", "untold"]
"""``started``: begun behind the one in which it waits; ``absent``: the rank had not started it."""


class Cell(Struct, frozen=True):
    """What became of one collective on some ranks, and the operation that they ran under its number."""

    state: State
    op: str


class Row(Struct, frozen=True):
    """Ranks that stood alike; ``odd``: one of them is what the others waited for."""

    ranks: str
    odd: bool
    cells: tuple[Cell, ...]


class Grid(Struct, frozen=True):
    """One process group: the numbers of its collectives (None: some are left out there) and its ranks."""

    group: str
    numbers: tuple[int | None, ...]
    rows: tuple[Row, ...]
    more: int
    unheard: str


def grids(picture: JobPicture, words: Catalogue) -> tuple[Grid, ...]:
    """Give the grids of the groups of which at least two ranks are heard, those with a rank apart first."""
    groups: dict[str, list[Standing]] = {}
    for one in picture.standings:
        groups.setdefault(one.group, []).append(one)
    found = [_grid(name, members, picture, words) for name, members in groups.items() if len(members) > 1]
    return tuple(sorted(found, key=lambda grid: (len(grid.rows) < 2, grid.group))[:_MOST_GRIDS])


def _grid(name: str, members: Sequence[Standing], picture: JobPicture, words: Catalogue) -> Grid:
    numbers = _numbers(members)
    kinds: dict[tuple[Cell, ...], list[int]] = {}
    for one in members:
        kinds.setdefault(tuple(_cell(one, number) for number in numbers if number is not None), []).append(one.rank)
    blamed = {row.rank for row in picture.rank_table if row.role == "culprit"}
    rows = [Row(_named(ranks, words), bool(blamed & set(ranks)), cells) for cells, ranks in kinds.items()]
    rows.sort(key=lambda row: not row.odd)
    heard = {one.rank for one in members}
    unheard = [r for r in range(min(picture.ranks_expected or 0, 1 << 16)) if r not in heard] if _spans(name) else []
    return Grid(
        name, numbers, tuple(rows[:_MOST_ROWS]), len(rows[_MOST_ROWS:]), _named(unheard, words) if unheard else ""
    )


def _spans(group: str) -> bool:
    """Whether the group is the one of all ranks: only there a rank that says nothing is one that should."""
    return group in {"", "0", "default_pg"}


def _named(ranks: Sequence[int], words: Catalogue) -> str:
    return words("rank.1" if len(ranks) == 1 else "rank.n", ranks=ranges(ranks, _MOST_RANGES))


def _numbers(members: Sequence[Standing]) -> tuple[int | None, ...]:
    """The numbers that tell the ranks apart, in order; None where a stretch of others is left out."""
    told = {n for one in members for n in (one.waits, one.completed, one.started) if n is not None and n >= 0}
    waited = {one.waits for one in members if one.waits is not None}
    behind = {one.started + 1 for one in members if one.started is not None and one.started < max(waited, default=0)}
    first = sorted(waited | behind)[:_MOST_COLUMNS]
    rest = sorted(told - set(first), key=lambda n: min((abs(n - one) for one in first), default=n))
    kept = sorted({*first, *rest[: _MOST_COLUMNS - len(first)]})
    row: list[int | None] = []
    for number in kept:
        before = row[-1] if row else None
        row += [None, number] if before is not None and number > before + 1 else [number]
    return tuple(row)


def _cell(one: Standing, number: int) -> Cell:
    if one.waits == number:
        return Cell("waits", one.op)
    if (one.completed is not None and number <= one.completed) or (one.waits is not None and number < one.waits):
        return Cell("done", "")
    if one.started is not None:
        return Cell("started" if number <= one.started else "absent", "")
    return Cell("untold", "")

"""Grids with the state of each rank in each collective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from logdoctor.model import CollectiveState, JobSummary
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.entity_names import ranges

_MOST_COLUMNS, _MOST_ROWS, _MOST_GRIDS, _MOST_RANGES = 10, 24, 3, 6

State = Literal["done", "waits", "started", "absent", "untold"]
"""State of a rank in one collective.

``started``: the rank began this collective after the one in which the rank waits. ``absent``: the rank did not start
this collective. ``untold``: the logs do not say.
"""


class Cell(Struct, frozen=True):
    """State of some ranks in one collective. ``op`` is the operation, for example ``ALLREDUCE``, if they wait in it."""

    state: State
    op: str


class Row(Struct, frozen=True):
    """Ranks with the same states. ``odd`` marks a row that holds a culprit."""

    ranks: str
    odd: bool
    cells: tuple[Cell, ...]


class Grid(Struct, frozen=True):
    """Grid of one process group.

    ``numbers`` are the sequence numbers of the columns, and None marks a gap between them. ``more`` counts the rows
    that are left out. ``silent_ranks`` names the ranks about which the logs say nothing.
    """

    group: str
    numbers: tuple[int | None, ...]
    rows: tuple[Row, ...]
    more: int
    silent_ranks: str


def grids(job: JobSummary, words: Catalogue) -> tuple[Grid, ...]:
    """Return a grid for each process group with at least two ranks. Groups whose ranks differ in state come first."""
    groups: dict[str, list[CollectiveState]] = {}
    for standing in job.standings:
        groups.setdefault(standing.group, []).append(standing)
    found = [_grid(name, members, job, words) for name, members in groups.items() if len(members) > 1]
    return tuple(sorted(found, key=lambda grid: (len(grid.rows) < 2, grid.group))[:_MOST_GRIDS])


def _grid(name: str, members: Sequence[CollectiveState], job: JobSummary, words: Catalogue) -> Grid:
    numbers = _columns(members)
    ranks_by_cells: dict[tuple[Cell, ...], list[int]] = {}
    for standing in members:
        cells = tuple(_cell(standing, number) for number in numbers if number is not None)
        ranks_by_cells.setdefault(cells, []).append(standing.rank)
    culprits = {row.rank for row in job.rank_table if row.role == "culprit"}
    rows = [
        Row(_rank_names(ranks, words), bool(culprits & set(ranks)), cells) for cells, ranks in ranks_by_cells.items()
    ]
    rows.sort(key=lambda row: not row.odd)
    silent = _silent_ranks(members, job) if _holds_all_ranks(name) else []
    silent_ranks = _rank_names(silent, words) if silent else ""
    return Grid(name, numbers, tuple(rows[:_MOST_ROWS]), len(rows[_MOST_ROWS:]), silent_ranks)


def _holds_all_ranks(group: str) -> bool:
    return group in {"", "0", "default_pg"}


def _silent_ranks(members: Sequence[CollectiveState], job: JobSummary) -> list[int]:
    present = {standing.rank for standing in members}
    return [rank for rank in range(min(job.ranks_expected or 0, 1 << 16)) if rank not in present]


def _rank_names(ranks: Sequence[int], words: Catalogue) -> str:
    return words("rank.1" if len(ranks) == 1 else "rank.n", ranks=ranges(ranks, _MOST_RANGES))


def _columns(members: Sequence[CollectiveState]) -> tuple[int | None, ...]:
    """Choose the collectives in which ranks differ. None marks a gap.

    Ranks that wait in 7 and in 900 give ``(7, None, 900)``.
    """
    numbers = {n for s in members for n in (s.waits, s.completed, s.started) if n is not None and n >= 0}
    waiting = {standing.waits for standing in members if standing.waits is not None}
    last = max(waiting, default=0)
    next_starts = {s.started + 1 for s in members if s.started is not None and s.started < last}
    first = sorted(waiting | next_starts)[:_MOST_COLUMNS]
    rest = sorted(numbers - set(first), key=lambda n: min((abs(n - number) for number in first), default=n))
    columns: list[int | None] = []
    for number in sorted({*first, *rest[: _MOST_COLUMNS - len(first)]}):
        before = columns[-1] if columns else None
        columns += [None, number] if before is not None and number > before + 1 else [number]
    return tuple(columns)


def _cell(standing: CollectiveState, number: int) -> Cell:
    waits, completed, started = standing.waits, standing.completed, standing.started
    if waits == number:
        return Cell("waits", standing.op)
    if (completed is not None and number <= completed) or (waits is not None and number < waits):
        return Cell("done", "")
    if started is not None:
        return Cell("started" if number <= started else "absent", "")
    return Cell("untold", "")

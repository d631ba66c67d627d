"""A dense grid with one cell per rank, and the hosts of the culprits enlarged beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from logdoctor.model import RankRow
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.entity_names import ranges
from logdoctor.render.rank_table import ROLES

FEWEST_RANKS = 17
"""Jobs with fewer ranks get no grid. Each rank has a lane."""
WIDEST = 512
"""Pixels of the widest row."""
LARGEST_CELL, SMALLEST_CELL = 14, 8
MOST_ENLARGED, MOST_ALIKE = 4, 12
_ENLARGED_CELL = 18


class Cells(Struct, frozen=True):
    """Cells of one grid: the outline of all cells of a role as one path. ``cell`` is in pixels."""

    width: int
    height: int
    paths: tuple[tuple[str, str], ...]
    """Pairs of a role and its path."""
    label: str
    """The roles as text, for screen readers."""


class Host(Struct, frozen=True):
    """A host of a culprit, enlarged."""

    name: str
    ranks: str
    cells: Cells


class RankGrid(Struct, frozen=True):
    """All ranks in order, the hosts of the culprits, and the other hosts, counted by the roles of their ranks."""

    cells: Cells
    legend: tuple[tuple[str, str], ...]
    """Pairs of a role and its name with the number of ranks."""
    hosts: tuple[Host, ...]
    alike: tuple[str, ...]
    """Texts like "511 hosts: victim"."""


def rank_grid(rows: Sequence[RankRow], words: Catalogue) -> RankGrid | None:
    """Return the grid, or None for fewer ranks than `FEWEST_RANKS`."""
    if len(rows) < FEWEST_RANKS:
        return None
    rows = sorted(rows, key=lambda row: row.rank)
    columns = 64 if len(rows) > 1024 else min(32, len(rows))
    counts = {role: sum(row.role == role for row in rows) for role in ROLES}
    legend = tuple(
        (role, f"{words(key)}{words('colon')}{counts[role]:,}") for role, key in ROLES.items() if counts[role]
    )
    cell = max(SMALLEST_CELL, min(LARGEST_CELL, WIDEST // columns))
    by_host: dict[str, list[RankRow]] = {}
    for row in rows:
        by_host.setdefault(row.host or "", []).append(row)
    guilty = [name for name, group in by_host.items() if name and any(row.role == "culprit" for row in group)]
    shown = guilty[:MOST_ENLARGED]
    hosts = tuple(
        Host(name, ranges([row.rank for row in by_host[name]], 3), _cells(by_host[name], 8, _ENLARGED_CELL, words))
        for name in shown
    )
    rest = {name: group for name, group in by_host.items() if name not in shown}
    return RankGrid(_cells(rows, columns, cell, words), legend, hosts, _alike(rest, words))


def _cells(rows: Sequence[RankRow], columns: int, cell: int, words: Catalogue) -> Cells:
    paths: dict[str, list[str]] = {}
    side = cell - (2 if cell > SMALLEST_CELL else 1)
    for index, row in enumerate(rows):
        y, x = divmod(index, columns)
        paths.setdefault(row.role, []).append(f"M{x * cell} {y * cell}h{side}v{side}h-{side}z")
    found = tuple((role, "".join(paths[role])) for role in ROLES if role in paths)
    height = math.ceil(len(rows) / columns) * cell
    return Cells(min(len(rows), columns) * cell, height, found, _label(rows, words))


def _alike(hosts: dict[str, list[RankRow]], words: Catalogue) -> tuple[str, ...]:
    """Count hosts whose ranks have the same roles."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for name, group in hosts.items():
        found = {row.role for row in group}
        kinds.setdefault(tuple(role for role in ROLES if role in found), []).append(name or words("host.unknown"))
    texts = []
    for roles, names in kinds.items():
        who = names[0] if len(names) == 1 else words("hosts.many", n=f"{len(names):,}")
        texts.append(who + words("colon") + words("joint").join(words(ROLES[role]) for role in roles))
    return tuple(texts[:MOST_ALIKE])


def _label(rows: Sequence[RankRow], words: Catalogue) -> str:
    """Return the roles as text: "rank 512: culprit"."""
    ranks_by_role: dict[str, list[int]] = {}
    for row in rows:
        ranks_by_role.setdefault(row.role, []).append(row.rank)
    return words("and").join(
        words("rank.1" if len(ranks) == 1 else "rank.n", ranks=ranges(ranks, 4)) + words("colon") + words(ROLES[role])
        for role, ranks in ranks_by_role.items()
    )

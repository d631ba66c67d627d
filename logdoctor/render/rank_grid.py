"""A grid with one cell per rank and one block per host."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from logdoctor.model import RankRow
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.entity_names import ranges
from logdoctor.render.rank_table import ROLES

FEWEST_RANKS = 17
"""Jobs with fewer ranks get no grid. Each rank has a lane."""
_MOST_COLUMNS = 16
"""Cells in a row of a block."""


class Host(Struct, frozen=True):
    """A block of the grid.

    ``cells`` are triples of column, row and role. ``columns`` and ``rows`` are the size of the block in cells.
    ``label`` is for screen readers.
    """

    name: str
    ranks: str
    cells: tuple[tuple[int, int, str], ...]
    columns: int
    rows: int
    label: str


def rank_grid(rows: Sequence[RankRow], words: Catalogue) -> tuple[Host, ...]:
    """Return the blocks in the order of their first ranks.

    There are none if no host is known or if the ranks are fewer than `FEWEST_RANKS`.
    """
    hosts: dict[str, list[RankRow]] = {}
    for row in rows:
        hosts.setdefault(row.host or "", []).append(row)
    if len(rows) < FEWEST_RANKS or not hosts.keys() - {""}:
        return ()
    return tuple(_host(name or words("host.unknown"), group, words) for name, group in hosts.items())


def _host(name: str, rows: Sequence[RankRow], words: Catalogue) -> Host:
    columns = min(len(rows), _MOST_COLUMNS)
    cells = tuple((index % columns, index // columns, row.role) for index, row in enumerate(rows))
    ranks = ranges([row.rank for row in rows], 3)
    return Host(name, ranks, cells, columns, -(-len(rows) // columns), _label(rows, words))


def _label(rows: Sequence[RankRow], words: Catalogue) -> str:
    """Return the roles as text: "rank 512: culprit"."""
    ranks_by_role: dict[str, list[int]] = {}
    for row in rows:
        ranks_by_role.setdefault(row.role, []).append(row.rank)
    return words("and").join(
        words("rank.1" if len(ranks) == 1 else "rank.n", ranks=ranges(ranks, 4)) + words("colon") + words(ROLES[role])
        for role, ranks in ranks_by_role.items()
    )

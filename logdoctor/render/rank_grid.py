"""All ranks at a glance: one cell a rank, one block a host."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from logdoctor.model import RankRow
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.entity_names import ranges
from logdoctor.render.rank_table import ROLES

FEWEST = 17
"""Fewer ranks than these have a lane each, and need no map."""
_WIDEST = 16
"""Cells beside each other; a host with more ranks has more rows of them."""


class Host(Struct, frozen=True):
    """One block: the host, which ranks it has, their parts in order, and all that in words."""

    name: str
    ranks: str
    cells: tuple[tuple[int, int, str], ...]
    columns: int
    rows: int
    says: str


def rank_map(rows: Sequence[RankRow], words: Catalogue) -> tuple[Host, ...]:
    """Give the blocks in the order of their first ranks; none where no host is known or the ranks are few."""
    hosts: dict[str, list[RankRow]] = {}
    for row in rows:
        hosts.setdefault(row.host or "", []).append(row)
    if len(rows) < FEWEST or not hosts.keys() - {""}:
        return ()
    return tuple(_host(name or words("host.unknown"), group, words) for name, group in hosts.items())


def _host(name: str, rows: Sequence[RankRow], words: Catalogue) -> Host:
    columns = min(len(rows), _WIDEST)
    cells = tuple((place % columns, place // columns, row.role) for place, row in enumerate(rows))
    return Host(
        name, ranges([row.rank for row in rows], 3), cells, columns, -(-len(rows) // columns), _says(rows, words)
    )


def _says(rows: Sequence[RankRow], words: Catalogue) -> str:
    """The parts of the ranks, as a reader of screens hears them: "rank 512: culprit; ranks 513-519: victim"."""
    parts: dict[str, list[int]] = {}
    for row in rows:
        parts.setdefault(row.role, []).append(row.rank)
    return words("and").join(
        words("rank.1" if len(ranks) == 1 else "rank.n", ranks=ranges(ranks, 4)) + words("colon") + words(ROLES[role])
        for role, ranks in parts.items()
    )

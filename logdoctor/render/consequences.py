"""A tree of the fallout of a cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class Effect(Protocol):
    """A kind of failure and the signature that explains it."""

    @property
    def signature(self) -> str: ...

    @property
    def explained_by(self) -> str | None: ...


class Consequence(Struct, frozen=True):
    """A row of fallout, with the fallout that it explains in turn."""

    row: Effect
    effects: tuple[Consequence, ...]


def consequences(cause: str, rows: Sequence[Effect], above: frozenset[str] = frozenset()) -> tuple[Consequence, ...]:
    """Return the rows that the signature ``cause`` explains, as trees.

    ``above`` holds the signatures on the way from the root. A signature that is in it gets no branches, so that a
    circle ends.
    """
    above |= {cause}
    return tuple(
        Consequence(row, consequences(row.signature, rows, above) if row.signature not in above else ())
        for row in rows
        if row.explained_by == cause
    )


def row_ids(tree: Sequence[Consequence]) -> set[int]:
    """Return the `id` of each row in ``tree``."""
    return {id(node.row) for node in tree} | {row for node in tree for row in row_ids(node.effects)}

"""The tree below a cause: what followed from it, and what followed from that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class Followed(Protocol):
    """What is known of a kind of fallout: its signature, and that of what it follows from."""

    @property
    def signature(self) -> str:
        """The kind of failure that was seen."""
        ...

    @property
    def because(self) -> str | None:
        """The signature that explains it."""
        ...


class Consequence(Struct, frozen=True):
    """One kind of fallout and what followed from it in turn."""

    row: Followed
    then: tuple[Consequence, ...]


def consequences(cause: str, rows: Sequence[Followed], above: frozenset[str] = frozenset()) -> tuple[Consequence, ...]:
    """Give what follows from the signature ``cause``, in the order of ``rows``; a circle ends where it closes."""
    above |= {cause}
    return tuple(
        Consequence(row, consequences(row.signature, rows, above) if row.signature not in above else ())
        for row in rows
        if row.because == cause
    )


def reached(tree: Sequence[Consequence]) -> set[int]:
    """Give which rows (by `id`) a tree holds."""
    return {id(one.row) for one in tree} | {found for one in tree for found in reached(one.then)}

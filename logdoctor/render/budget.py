"""How much of a diagnosis a file may hold: long texts and long lists are cut, and the report says so."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct

Part = TypeVar("Part")

_GROUPED = frozenset({"hosts", "ranks", "ranks_seen", "rank_table", "standings"})
"""Lists that a report never writes out one by one: cutting them would make its counts wrong."""


class Budget(Struct, frozen=True):
    """The most characters of a text, entries of a list, and ranks that are listed one by one."""

    text: int
    entries: int
    ranks: int


BUDGETS = (Budget(2000, 200, 4096), Budget(1000, 100, 1024), Budget(400, 40, 256), Budget(160, 12, 0), Budget(80, 6, 0))
"""From the one that hardly ever cuts to one that makes any diagnosis small."""


def cut(part: Part, budget: Budget) -> Part:
    """Give ``part`` (any noun of the model, a tuple or a text) with no text and no list longer than ``budget``."""
    made: Any = part
    if isinstance(part, str):
        made = part if len(part) <= budget.text else part[: budget.text - 2] + " …"
    elif isinstance(part, tuple):
        made = tuple(cut(one, budget) for one in part)
    elif isinstance(part, Struct):
        made = type(part)(*(_cut_field(name, getattr(part, name), budget) for name in part.__struct_fields__))
    return made  # type: ignore[no-any-return]


def _cut_field(name: str, value: Any, budget: Budget) -> Any:
    if isinstance(value, tuple) and name not in _GROUPED:
        value = value[: budget.entries]
    return value if isinstance(value, int | float) else cut(value, budget)

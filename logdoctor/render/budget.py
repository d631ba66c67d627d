"""Limits on the size of a rendered diagnosis."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct

Part = TypeVar("Part")

_UNCUT_LISTS = frozenset({"hosts", "ranks", "ranks_seen", "rank_table", "standings"})
"""Lists that reports group and count. Cutting them would make the counts wrong."""


class Budget(Struct, frozen=True):
    """Limits on the size of a report.

    ``text`` counts characters, ``entries`` items of a list. ``ranks`` is the size of a job up to which each rank
    gets a row.
    """

    text: int
    entries: int
    ranks: int


BUDGETS = (Budget(2000, 200, 512), Budget(1000, 100, 256), Budget(400, 40, 64), Budget(160, 12, 0), Budget(80, 6, 0))
"""Budgets from large to small. The first hardly ever cuts, and the last makes any diagnosis small."""


def truncate(part: Part, budget: Budget) -> Part:
    """Cut every text and list in ``part`` to ``budget``.

    ``part`` is a struct of the model, a tuple or a text. A cut text ends in `` …``.
    """
    result: Any = part
    if isinstance(part, str):
        result = part if len(part) <= budget.text else part[: budget.text - 2] + " …"
    elif isinstance(part, tuple):
        result = tuple(truncate(item, budget) for item in part)
    elif isinstance(part, Struct):
        result = type(part)(*(_truncate_field(name, getattr(part, name), budget) for name in part.__struct_fields__))
    return result  # type: ignore[no-any-return]


def _truncate_field(name: str, value: Any, budget: Budget) -> Any:
    if isinstance(value, tuple) and name not in _UNCUT_LISTS:
        value = value[: budget.entries]
    return value if isinstance(value, int | float) else truncate(value, budget)

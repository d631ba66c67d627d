"""The tables of choices: ``rules/decisions.tsv`` and ``rules/owners.tsv``.

A line holds a rule or signature, a condition, and the choice. A decision may have a fourth column: the thing to change
or to repair.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar, get_args

from logdoctor.model import DecisionRow, Do, OwnerRow, RuleError
from logdoctor.model.own_files import read_source
from logdoctor.ruleset.tables import MAX_FAULTS, OWNERS

DECISIONS_FILE, OWNERS_FILE = "decisions.tsv", "owners.tsv"
ALWAYS = "-"
DECISIONS: tuple[Do, ...] = get_args(Do)
CONDITIONS = (ALWAYS, "checkpoint", "progress", "one-host-of-many")
"""Conditions of decisions beside ``NAME=VALUE,...``."""

Decisions = dict[str, tuple[DecisionRow, ...]]
"""Rows in order, by the id of a rule or a signature."""
Owners = dict[str, tuple[OwnerRow, ...]]
_Row = TypeVar("_Row")


def read_decisions(path: Path, errors: list[RuleError]) -> Decisions:
    """Read the table. A missing file is an empty table. Faulty lines are added to ``errors``."""
    holds = lambda when: when in CONDITIONS or "=" in when  # noqa: E731
    return _read(path, DecisionRow, DECISIONS, holds, f"{', '.join(CONDITIONS)}, NAME=VALUE", errors, most=1)


def read_owners(path: Path, errors: list[RuleError]) -> Owners:
    """Read the table as `read_decisions` does."""
    return _read(path, OwnerRow, OWNERS, bool, f"{ALWAYS}, NAME, NAME=VALUE", errors)


def _read(
    path: Path,
    row: Callable[..., _Row],
    choices: Sequence[str],
    is_condition: Callable[[str], bool],
    conditions: str,
    errors: list[RuleError],
    most: int = 0,
) -> dict[str, tuple[_Row, ...]]:
    table: dict[str, tuple[_Row, ...]] = {}
    if not os.path.lexists(path):
        return table
    try:
        lines = read_source(path, f"the table {path.name} could not be read").splitlines()
    except RuleError as error:
        errors.append(error)
        return table
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        of, when, choice, *what = parts if len(parts := line.split("\t")) >= 3 else ("", "", "")
        if of and choice in choices and is_condition(when) and len(what) <= most:
            table[of] = (*table.get(of, ()), row(when.removeprefix(ALWAYS), choice, *what))
        elif len(errors) < MAX_FAULTS:
            columns = f"rule or signature, condition ({conditions}), {' | '.join(choices)}"
            errors.append(RuleError("a line needs three columns", f"{path}:{number}", line[:80], columns))
    return table

"""The tables of choices: ``rules/decisions.tsv`` and ``rules/owners.tsv``.

A line holds a rule or signature, a condition, and the choice. A decision may have a fourth column: the thing to change
or to repair. ``rules/things.tsv`` says which text must show such a thing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, get_args

import regex
from msgspec.structs import replace

from logdoctor.model import FACT_TYPES, LOOKS, MEASURED, ONCE, DecisionRow, Do, OwnerRow, RuleError, split_thing
from logdoctor.model.own_files import read_source
from logdoctor.ruleset.tables import MAX_FAULTS, OWNERS

DECISIONS_FILE, OWNERS_FILE, THINGS_FILE = "decisions.tsv", "owners.tsv", "things.tsv"
ALWAYS = "-"
DECISIONS: tuple[Do, ...] = get_args(Do)
JOB_CONDITIONS = ("checkpoint", "progress", "one-host", "one-host-of-many")
"""Conditions of decisions about the job."""
NAMES = frozenset((*MEASURED, "owner", "frame", "says"))
"""Names of other conditions, beside settings of the job (in capitals) and facts (``TYPE.ROLE``)."""
THINGS: Mapping[Do, tuple[str, ...]] = {
    "resubmit-with-changes": (
        *"address arguments batch binding container copies earlier gpu-memory gpus interface launch".split(),
        *"launcher limits members memlock memory names one-gpu path plugin pmi port ranks rdma request resume".split(),
        *"resume-on settings shm slots straggler time topology transport".split(),
        *ONCE,
    ),
    "fix-first": (
        *"checkpoint code command data disk gpu gpu-access host installation network permissions scheduler".split(),
        *"settings ssh storage".split(),
    ),
    "investigate": LOOKS,
}
"""Things to change, to repair or to look at: ``head.change.*``, ``head.fix.*``, ``look.at.*``."""

Decisions = dict[str, tuple[DecisionRow, ...]]
"""Rows in order, by the id of a rule or a signature."""
Owners = dict[str, tuple[OwnerRow, ...]]
Things = dict[str, str]
"""Expressions that show a thing."""
_Row = TypeVar("_Row")


def read_decisions(path: Path, errors: list[RuleError]) -> Decisions:
    """Read the table. A missing file is an empty table. Faulty lines are added to ``errors`` and left out."""
    conditions = f"{', '.join((ALWAYS, *JOB_CONDITIONS))}, NAME, NAME=VALUE, joined by &"
    return _read(path, DecisionRow, DECISIONS, is_condition, conditions, errors, _check_thing)


def is_condition(when: str) -> bool:
    """Return whether the condition of a row is understood."""
    return when == ALWAYS or all(map(_is_term, when.split("&")))


def _is_term(term: str) -> bool:
    name, _, _ = term.partition("=")
    is_fact = name.partition(".")[0] in FACT_TYPES and "." in name
    return term in JOB_CONDITIONS or name in NAMES or is_fact or (name.isupper() and name.isascii())


def read_owners(path: Path, errors: list[RuleError]) -> Owners:
    """Read the table as `read_decisions` does."""
    return _read(path, OwnerRow, OWNERS, bool, f"{ALWAYS}, NAME, NAME=VALUE", errors)


def read_things(path: Path, errors: list[RuleError]) -> Things:
    """Read the expressions. A missing file is an empty table. Faulty lines are added to ``errors`` and left out."""
    table, known = Things(), {thing for things in THINGS.values() for thing in things}
    for where, line in _lines(path, errors):
        thing, tab, shown_by = line.partition("\t")
        if thing in known and tab and _is_expression(shown_by):
            table[thing] = shown_by
        elif len(errors) < MAX_FAULTS:
            errors.append(
                RuleError("a line needs a thing and an expression", where, line[:80], ", ".join(sorted(known)))
            )
    return table


def with_things(decisions: Decisions, things: Things) -> Decisions:
    """Return the decisions, each with the expression that shows its thing."""
    return {
        of: tuple(replace(row, shown_by=things.get(split_thing(row.what)[0], "")) for row in rows)
        for of, rows in decisions.items()
    }


def _is_expression(text: str) -> bool:
    try:
        regex.compile(text)
    except regex.error:
        return False
    return bool(text)


def _check_thing(row: DecisionRow, where: str) -> RuleError | None:
    """Return the fault of a row whose thing has no words."""
    things = THINGS.get(row.do, ())
    thing, settings = split_thing(row.what)
    if settings and row.do != "resubmit-with-changes":
        return RuleError(f"'{row.do}' changes no setting", where, row.what, "name a thing, without settings")
    if not thing or thing in things:
        return None
    if not things:
        return RuleError(f"'{row.do}' changes and repairs nothing", where, row.what, "take the fourth column out")
    setting = ", or NAME=VALUE" if row.do == "resubmit-with-changes" else ""
    what = f"'{row.what}' is no thing that '{row.do}' can name"
    return RuleError(what, where, "", f"one of {', '.join(things)}{setting}")


def _read(
    path: Path,
    row: Callable[..., _Row],
    choices: Sequence[str],
    is_condition: Callable[[str], bool],
    conditions: str,
    errors: list[RuleError],
    check: Callable[[_Row, str], RuleError | None] | None = None,
) -> dict[str, tuple[_Row, ...]]:
    """Return the rows. With a ``check`` a line may have a fourth column."""
    table: dict[str, tuple[_Row, ...]] = {}
    for where, line in _lines(path, errors):
        of, when, choice, *what = parts if len(parts := line.split("\t")) >= 3 else ("", "", "")
        if of and choice in choices and is_condition(when) and len(what) <= (check is not None):
            read = row(when.removeprefix(ALWAYS), choice, *what)
            fault = check(read, where) if check else None
            table |= {} if fault else {of: (*table.get(of, ()), read)}
        else:
            columns = f"rule or signature, condition ({conditions}), {' | '.join(choices)}"
            fault = RuleError("a line needs three columns", where, line[:80], columns)
        if fault and len(errors) < MAX_FAULTS:
            errors.append(fault)
    return table


def _lines(path: Path, errors: list[RuleError]) -> Iterator[tuple[str, str]]:
    """Yield place and text of the lines of a table, without comments."""
    try:
        text = read_source(path, f"the table {path.name} could not be read") if os.path.lexists(path) else ""
    except RuleError as error:
        errors.append(error)
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield f"{path}:{number}", line

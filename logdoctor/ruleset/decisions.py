"""The table of decisions, ``rules/decisions.tsv``: rule or signature, condition, decision."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

from logdoctor.model import DecisionRow, Do, RuleError
from logdoctor.model.own_files import read_source
from logdoctor.ruleset.tables import MAX_FAULTS

FILE_NAME = "decisions.tsv"
ALWAYS = "-"
DECISIONS: tuple[Do, ...] = get_args(Do)
CONDITIONS = (ALWAYS, "checkpoint", "progress", "one-host-of-many")
"""Conditions beside ``NAME=VALUE,...``."""

Decisions = dict[str, tuple[DecisionRow, ...]]
"""Rows in order, by the id of a rule or a signature."""


def read_decisions(path: Path, errors: list[RuleError]) -> Decisions:
    """Read the table. A missing file is an empty table. Faulty lines are added to ``errors``."""
    table: Decisions = {}
    if not os.path.lexists(path):
        return table
    try:
        lines = read_source(path, "the table of decisions could not be read").splitlines()
    except RuleError as error:
        errors.append(error)
        return table
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        of, when, do = parts if len(parts := line.split("\t")) == 3 else ("", "", "")
        if of and do in DECISIONS and (when in CONDITIONS or "=" in when):
            table[of] = (*table.get(of, ()), DecisionRow(when.removeprefix(ALWAYS), do))
        elif len(errors) < MAX_FAULTS:
            columns = f"rule or signature, condition ({', '.join(CONDITIONS)}, NAME=VALUE), {' | '.join(DECISIONS)}"
            errors.append(RuleError("a decision needs three columns", f"{path}:{number}", line[:80], columns))
    return table

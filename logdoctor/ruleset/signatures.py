"""The table of failure signatures, ``rules/signatures.tsv``: id, family, action, meaning."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from logdoctor.model import Action, RuleError
from logdoctor.model.own_files import read_source

FILE_NAME = "signatures.tsv"
ACTIONS: tuple[Action, ...] = ("stop", "retry", "exclude", "none")
VERDICTS = ("healthy", "unknown")
MAX_FAULTS = 100


class Signature(Struct, frozen=True):
    """A way in which a job fails, with the action of all its rules."""

    id: str
    family: str
    action: Action
    meaning: str


def read_signatures(path: Path, errors: list[RuleError]) -> dict[str, Signature]:
    """Read the table by id. A missing file is an empty table. Faulty lines are added to ``errors``."""
    table: dict[str, Signature] = {}
    if not os.path.lexists(path):
        return table
    try:
        lines = read_source(path, "the table of signatures could not be read").splitlines()
    except RuleError as error:
        errors.append(error)
        return table
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) == 4 and parts[2] in ACTIONS:
            table[parts[0]] = Signature(parts[0], parts[1], parts[2], parts[3])
        elif len(errors) < MAX_FAULTS:
            columns = f"id, family, action ({', '.join(ACTIONS)}), meaning"
            errors.append(RuleError("a signature needs four columns", f"{path}:{number}", line[:80], columns))
    return table

"""The table of failure signatures, ``rules/signatures.tsv``: id, family, action, meaning."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from logdoctor.model import Action, RuleError

FILE_NAME = "signatures.tsv"
ACTIONS: tuple[Action, ...] = ("stop", "retry", "exclude", "none")
VERDICTS = ("healthy", "unknown")


class Signature(Struct, frozen=True):
    """A way in which a job fails, with the action of all its rules."""

    id: str
    family: str
    action: Action
    meaning: str


def read_signatures(path: Path) -> dict[str, Signature]:
    """Read the table by id. A missing file is an empty table. Raise `RuleError` for a faulty line."""
    table: dict[str, Signature] = {}
    if not path.is_file():
        return table
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) != 4 or parts[2] not in ACTIONS:
            raise RuleError(
                "a signature needs four columns", f"{path}:{number}", line[:80], "id, family, action, meaning"
            )
        table[parts[0]] = Signature(parts[0], parts[1], parts[2], parts[3])
    return table

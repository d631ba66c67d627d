"""The agreed failure signatures: id, family, action and meaning, one a line of ``rules/signatures.tsv``."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from logdoctor.model import Action, RuleError

FILE_NAME = "signatures.tsv"
ACTIONS: tuple[Action, ...] = ("stop", "retry", "exclude", "none")
VERDICTS = ("healthy", "unknown")


class Signature(Struct, frozen=True):
    """One agreed way in which a job fails."""

    id: str
    family: str
    action: Action
    meaning: str


def read_signatures(path: Path) -> dict[str, Signature]:
    """The table by id; a missing file is an empty table (a user's own folder of rules).  Raises `RuleError`."""
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

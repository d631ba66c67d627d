"""The ruleset: YAML files become `Rule`s.

``rules/<family>/<signature>/rule.yaml`` is the rule ``family.signature``. A variant ``<name>.yaml`` beside it is the
rule ``family.name``. A rule without such a folder is ``rules/<family>/<name>.yaml``. This module only finds the files.
`loading` reads them, so that a diagnosis with compiled rules does not import YAML.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

SUFFIX = ".yaml"
BASE = "rule"
"""Name of the file of a signature's own rule."""
TRANSLATIONS = "i18n"
"""Folder with the words of rules in other languages."""
MENDS_FILE = "mends.yaml"
"""Steps that a site adds to the remedies of rules."""


class RuleFile(NamedTuple):
    """The file of a rule. ``signature`` is "" if no folder says it."""

    id: str
    path: Path
    signature: str


def shipped_rules() -> Path:
    """Return the folder of the shipped rules, in a wheel or in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_rules"
    return inside if inside.is_dir() else package.parent / "rules"


def rule_files(folder: Path) -> list[RuleFile]:
    """Return the file of every rule below ``folder``, sorted by id."""
    paths = (path.relative_to(folder) for path in folder.rglob("*" + SUFFIX))
    return sorted(_rule_file(folder, path) for path in paths if path.parts[0] not in (TRANSLATIONS, MENDS_FILE))


def _rule_file(folder: Path, path: Path) -> RuleFile:
    parts = path.with_suffix("").parts
    if len(parts) != 3:
        return RuleFile(".".join(parts), folder / path, "")
    family, signature, name = parts
    return RuleFile(f"{family}.{signature if name == BASE else name}", folder / path, f"{family}.{signature}")

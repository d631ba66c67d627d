"""The ruleset: YAML files become `Rule`s.

``rules/<family>/<signature>/rule.yaml`` is the rule ``family.signature``. A variant ``<name>.yaml`` beside it is the
rule ``family.name``. A rule without such a folder is ``rules/<family>/<name>.yaml``. This module only finds the files.
`loading` reads them, so that a diagnosis with compiled rules does not import YAML.

A wheel holds the files of the rules in `ARCHIVE`, because each of them would take a block of the disk or two.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

SUFFIX = ".yaml"
ARCHIVE = "rules.zip"
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
    """Return the file of every rule below ``folder``, sorted by id. Of ours some may stand in an archive."""
    paths = (path.relative_to(folder) for path in folder.rglob("*" + SUFFIX))
    files = [_rule_file(folder, path) for path in paths if path.parts[0] not in (TRANSLATIONS, MENDS_FILE)]
    archive = shipped_archive()
    if archive.parent == folder:
        files += [_rule_file(archive, Path(name)) for name in archived(archive)]
    return sorted(files)


@cache
def shipped_archive() -> Path:
    """Return the archive of our rules, which only a wheel has."""
    return shipped_rules() / ARCHIVE


@cache
def archived(archive: Path) -> Mapping[str, bytes]:
    """Return the files of an archive of our own by name. It is empty if there is none."""
    if not archive.is_file():
        return {}
    import zipfile  # late: a diagnosis reads no archive

    with zipfile.ZipFile(archive) as file:
        return {name: file.read(name) for name in file.namelist()}


def _rule_file(folder: Path, path: Path) -> RuleFile:
    parts = path.with_suffix("").parts
    if len(parts) != 3:
        return RuleFile(".".join(parts), folder / path, "")
    family, signature, name = parts
    return RuleFile(f"{family}.{signature if name == BASE else name}", folder / path, f"{family}.{signature}")

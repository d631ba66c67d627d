"""The ruleset: YAML files become `Rule`s.

``rules/<family>/<name>.yaml`` is the rule ``family.name``. This module only finds the files. `loading` reads them, so
that a diagnosis with compiled rules does not import YAML.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

SUFFIX = ".yaml"


def shipped_rules() -> Path:
    """Return the folder of the shipped rules, in a wheel or in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_rules"
    return inside if inside.is_dir() else package.parent / "rules"


def rule_files(folders: Iterable[Path]) -> list[tuple[str, Path]]:
    """Return (id, file) of every rule below ``folders``. Of two files with one id, the later folder's counts."""
    files: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*" + SUFFIX)):
            files[".".join(path.relative_to(folder).with_suffix("").parts)] = path
    return sorted(files.items())

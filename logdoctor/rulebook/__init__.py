"""The rulebook: YAML files in, `Rule`s out.  It never sees an event.

``rules/<family>/<name>.yaml`` is the rule ``family.name``; a new rule is one new file.  Reading YAML is
`loading`'s; this module only knows where rules are, so that a diagnosis with compiled rules imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

SUFFIX = ".yaml"


def shipped_rules() -> Path:
    """The folder of our own rules, in an installed wheel and in a checkout alike."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_rules"
    return inside if inside.is_dir() else package.parent / "rules"


def rule_files(folders: Iterable[Path]) -> list[tuple[str, Path]]:
    """(id, file) of every rule below ``folders``; where an id comes twice the later folder wins (a user's override)."""
    found: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*" + SUFFIX)):
            found[".".join(path.relative_to(folder).with_suffix("").parts)] = path
    return sorted(found.items())

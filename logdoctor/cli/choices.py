"""Names that options take, from the folders of what they choose. Imports of these rooms would slow every help."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from logdoctor.pack.module_names import module_names

_PACKAGE = Path(__file__).resolve().parent.parent
LANGUAGES = tuple(sorted(name.partition(".")[0] for name in os.listdir(_PACKAGE / "render" / "words")))  # noqa: PTH208


def format_names(*folder: str) -> list[str]:
    """Return the names of the formats in a folder of the package."""
    return module_names([os.fspath(_PACKAGE.joinpath(*folder))])


def one_of(names: Iterable[str], default: str = "") -> str:
    """Return ``text (default), html or json``."""
    *others, last = (name for name in names if name != default)
    first = [f"{default} (default)"] if default else []
    return f"{', '.join([*first, *others])} or {last}"

"""The option ``--rules``, and the folders of rules from settings and packages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from logdoctor.cli.settings import Settings

Rules = Annotated[
    list[Path] | None,
    typer.Option("--rules", help="A folder of your own rules, added to ours.", exists=True, file_okay=False),
]


def read_settings() -> Settings:
    """Read the settings. A faulty file is wrong usage."""
    from logdoctor.cli.settings import settings
    from logdoctor.model import InputError

    try:
        return settings()
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="logdoctor.toml") from None


def own_folders(rules: Sequence[Path] | None) -> list[Path]:
    """Return the folders of the settings, then those of ``--rules``."""
    return [*read_settings().rules, *(rules or [])]


def all_folders(rules: Sequence[Path] | None) -> list[Path]:
    """Return every folder of rules, the shipped one first."""
    from logdoctor.pipeline.knowledge import rule_folders

    return rule_folders(own_folders(rules))

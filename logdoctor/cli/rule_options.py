"""Which rules a command works with: the option ``--rules``, and the folders of settings and packages before it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from logdoctor.settings import Settings

Rules = Annotated[
    list[Path] | None,
    typer.Option("--rules", help="A folder of your own rules, added to ours.", exists=True, file_okay=False),
]


def chosen_settings() -> Settings:
    """The settings that hold here; a faulty file is wrong usage."""
    from logdoctor.model import InputError
    from logdoctor.settings import settings

    try:
        return settings()
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="logdoctor.toml") from None


def own_folders(given: Sequence[Path] | None) -> list[Path]:
    """The folders of the settings, then those that ``--rules`` named."""
    return [*chosen_settings().rules, *(given or [])]


def all_folders(given: Sequence[Path] | None) -> list[Path]:
    """Every folder in which rules are looked for, ours first."""
    from logdoctor.knowledge import rule_folders

    return rule_folders(own_folders(given))

"""The folders of rules from options, settings and packages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from logdoctor.cli.errors import wrong_usage

if TYPE_CHECKING:
    from logdoctor.cli.settings import Settings


def read_settings() -> Settings:
    """Read the settings. A faulty file is wrong usage."""
    from logdoctor.cli.settings import settings
    from logdoctor.model import InputError

    try:
        return settings()
    except InputError as error:
        raise wrong_usage(str(error), "logdoctor.toml") from None


def own_folders(rules: Sequence[Path] | None) -> list[Path]:
    """Return the folders of the settings, then those of ``--rules``."""
    return [*read_settings().rules, *(rules or [])]


def all_folders(rules: Sequence[Path] | None) -> list[Path]:
    """Return every folder of rules, the shipped one first."""
    from logdoctor.pipeline.knowledge import rule_folders

    return rule_folders(own_folders(rules))

"""The folders of rules from options, settings and packages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def add_rules_of_settings(ctx: Any, rules: list[Path] | None) -> list[Path]:
    """Return the folders of the settings, then those of ``--rules``. It is the callback of the option."""
    from logdoctor.cli.config_options import used_settings

    return [*used_settings(ctx).rules, *(rules or [])]


def all_folders(rules: Sequence[Path] | None) -> list[Path]:
    """Return every folder of rules, the shipped one first."""
    from logdoctor.pipeline.knowledge import rule_folders

    return rule_folders(list(rules or []))

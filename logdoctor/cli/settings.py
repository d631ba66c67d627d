"""Settings of the command line: ``logdoctor.toml``.

    rules = ["rules", "/etc/logdoctor/rules"]    # folders of your own rules, from this file's folder
    lang = "zh"                                  # language of the reports
    format = "markdown"                          # format of the reports

Only the first of these files counts:

1. the file of ``$LOGDOCTOR_CONFIG`` (if the variable is empty, no file)
2. ``logdoctor.toml`` in the working directory
3. ``$XDG_CONFIG_HOME/logdoctor/config.toml``

Options of the command line override it. The Python API reads none of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from logdoctor.model import InputError

HELP = "the keys are rules = [folders], lang and format"


class Settings(Struct, frozen=True):
    """Defaults of the command line, and the file that they come from."""

    rules: tuple[Path, ...] = ()
    lang: str | None = None
    format: str | None = None
    file: Path | None = None


def settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings. Raise `InputError` for a file that is unreadable or faulty."""
    file = _file(environ)
    return _read(file) if file else Settings()


def _file(environ: Mapping[str, str]) -> Path | None:
    name = environ.get("LOGDOCTOR_CONFIG")
    if name is not None:
        return Path(name) if name else None
    home = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - never raises
    for place in ("logdoctor.toml", os.path.join(home, "logdoctor", "config.toml")):  # noqa: PTH118
        if os.path.isfile(place):  # noqa: PTH113
            return Path(place)
    return None


def _read(file: Path) -> Settings:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("the settings cannot be read", str(file), str(error), HELP) from None
    for key in table:
        if key not in ("rules", "lang", "format"):
            raise InputError(f"unknown setting '{key}'", str(file), "", HELP)
    folders = _folders(table.get("rules", []), file)
    return Settings(folders, _text(table, "lang", file), _text(table, "format", file), file)


def _folders(value: Any, file: Path) -> tuple[Path, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise InputError("'rules' must be a list of folders", str(file), "", 'rules = ["my-rules"]')
    return tuple(file.parent / Path(name).expanduser() for name in names)


def _text(table: Mapping[str, Any], key: str, file: Path) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(f"'{key}' must be a text", str(file), f"it is {type(value).__name__}", HELP)
    return value

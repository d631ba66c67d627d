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
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from logdoctor.model import InputError
from logdoctor.model.own_files import read_text

MAX_BYTES, MAX_BRACKETS = 1 << 14, 100
"""Limits of a file of settings. A name of 60,000 parts takes the parser a minute."""
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
    try:
        text = read_text(file, MAX_BYTES)
    except OSError as error:
        raise InputError("the settings cannot be read", str(file), error.strerror or str(error), HELP) from None
    table = _parse(text, file)
    for key in table:
        if key not in ("rules", "lang", "format"):
            raise InputError(f"unknown setting '{key[:80]}'", _place(file, text, key), "", HELP)
    names = table.get("rules", [])
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise InputError("'rules' must be a list of folders", _place(file, text, "rules"), "", 'rules = ["my-rules"]')
    for key in ("lang", "format"):
        if not isinstance(value := table.get(key, ""), str):
            why = f"it is {type(value).__name__}"
            raise InputError(f"'{key}' must be a text", _place(file, text, key), why, HELP)
    folders = tuple(file.parent / Path(name).expanduser() for name in names)
    return Settings(folders, table.get("lang"), table.get("format"), file)


def _parse(text: str, file: Path) -> Mapping[str, Any]:
    """Parse TOML. Brackets are counted before, because a parser in C may overflow the stack of the process."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if text.count("[") + text.count("{") > MAX_BRACKETS:
        raise InputError("the settings cannot be read", str(file), "they have too many brackets", HELP)
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        line = re.search(r"line ([0-9]+)", str(error))
        place = f"{file}:{line[1]}" if line else str(file)
        raise InputError("the settings cannot be read", place, str(error)[:200], HELP) from None
    return table


def _place(file: Path, text: str, key: str) -> str:
    """Return the place of ``key`` in the file."""
    found = re.search(rf"(?m)^[\s\[\"']*{re.escape(key)}", text)
    return f"{file}:{text.count(chr(10), 0, found.end()) + 1}" if found else str(file)

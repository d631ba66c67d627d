"""Settings of the command line: the long options, in a file of TOML.

    lang = "zh"                                  # options of diagnose
    rules = ["rules", "/etc/logdoctor/rules"]    # folders, from this file's folder
    [scan]                                       # options of another command
    workers = 4

Only the first of these files counts:

1. the file of ``--config``, or none with ``--no-config``
2. the file of ``$LOGDOCTOR_CONFIG`` (if the variable is empty, no file)
3. ``$XDG_CONFIG_HOME/logdoctor/config.toml`` (default: ``~/.config``)
4. ``logdoctor/config.toml`` in a folder of ``$XDG_CONFIG_DIRS`` (default: ``/etc/xdg``)

A ``logdoctor.toml`` in the working directory is not used: the folder of a job may come from somebody else. Options of
the command line and environment variables override the file. The Python API reads none of them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from logdoctor.model import InputError
from logdoctor.model.own_files import read_text

MAX_BYTES, MAX_BRACKETS = 1 << 14, 100
"""Limits of a file of settings. A name of 60,000 parts takes the parser a minute."""
HELP = "the keys are the long options; 'logdoctor config' lists them"
LOCAL_FILE = "logdoctor.toml"


class Settings(Struct, frozen=True):
    """The tables of a file of settings."""

    values: dict[str, Any] = field(default_factory=dict)
    file: Path | None = None
    text: str = ""

    @property
    def rules(self) -> tuple[Path, ...]:
        """Folders of the user's own rules."""
        names = self.values.get("rules", [])
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            raise self.fault("rules", "'rules' must be a list of folders", 'rules = ["my-rules"]')
        return tuple(self.path(name) for name in names)

    def path(self, name: str) -> Path:
        """Return the path of ``name``, which starts at the folder of the file."""
        return (self.file or Path()).parent / Path(name).expanduser()

    def fault(self, key: str, what: str, help: str = HELP) -> InputError:
        """Return the error about ``key``, with the line where it stands."""
        return InputError(what, f"{self.file}:{self.line_of(key)}", "", help)

    def line_of(self, key: str) -> int:
        found = re.search(rf"(?m)^[ \t\[\"']*{re.escape(key)}", self.text)
        return self.text.count("\n", 0, found.start()) + 1 if found else 1


def settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings that hold without ``--config``. Raise `InputError` for a file that is unreadable or faulty."""
    file = find_file(environ)
    return read_file(file) if file else Settings()


def find_file(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the file of settings that holds without ``--config``."""
    name = environ.get("LOGDOCTOR_CONFIG")
    if name is not None:
        return Path(name) if name else None
    return next((file for file in places(environ) if os.path.isfile(file)), None)  # noqa: PTH113 - never raises


def places(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the files that are looked for if nobody names one."""
    home = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - never raises
    folders = [home, *(environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")]
    return [Path(folder, "logdoctor", "config.toml") for folder in folders if os.path.isabs(folder)]  # noqa: PTH117


def report_local_file(used: Path | None) -> None:
    """Print that the ``logdoctor.toml`` of the working directory is not used, if there is one."""
    if not os.path.isfile(LOCAL_FILE) or (used is not None and used.absolute() == Path(LOCAL_FILE).absolute()):  # noqa: PTH113
        return
    sys.stderr.write(f"logdoctor: ./{LOCAL_FILE} is not used; to use it: --config {LOCAL_FILE}\n")


def read_file(file: Path) -> Settings:
    """Read a file of settings. Raise `InputError` if that is not possible."""
    try:
        text = read_text(file, MAX_BYTES)
    except OSError as error:
        raise InputError("the settings cannot be read", str(file), error.strerror or str(error), HELP) from None
    return Settings(_parse(text, file), file, text)


def _parse(text: str, file: Path) -> dict[str, Any]:
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

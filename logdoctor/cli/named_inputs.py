"""Checks of the inputs and outputs that the user named, made before anything is read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from logdoctor.cli.errors import print_error, refuse_output, wrong_usage


def paths_or_stdin(paths: list[str] | None) -> list[str]:
    """Return ``paths`` or, if there are none, standard input. A terminal as standard input is wrong usage."""
    if not paths and sys.stdin.isatty():
        raise wrong_usage("give a file or a folder, or pipe a log in: cat crash.log | logdoctor", "PATHS")
    return paths or ["-"]


def report_missing(paths: Sequence[str]) -> int:
    """Print which paths are not there, and a similar name beside each. Return their number."""
    missing = [path for path in paths if _is_missing(path)]
    for path in missing:
        from logdoctor.cli.words import propose
        from logdoctor.model import InputError

        folder, name = os.path.split(path)
        hint = propose(name, _names_in(folder), 1, cutoff=0.8)
        print_error(InputError("not there" + (f"; {hint}" if hint else ""), path))
    return len(missing)


def _is_missing(path: str) -> bool:
    return path != "-" and "://" not in path and not {*path} & {*"*?[\0"} and not os.path.lexists(path)


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")  # noqa: PTH208 - takes any text
    except OSError:
        return []


def refuse_output_file(output: Path | None, paths: Iterable[str] | None = ()) -> None:
    """End if ``output`` is one of the logs, or in a folder that is not there."""
    if output is None:
        return
    for path in paths or ():
        if output.is_file() and os.path.exists(path) and output.samefile(path):  # noqa: PTH110 - takes any text
            raise wrong_usage(f"{output} is the log itself: name another file", "--output")
    if not output.absolute().parent.is_dir():
        refuse_output(output, FileNotFoundError(None, "there is no such folder"))

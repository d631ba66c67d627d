"""Errors of logdoctor itself, told without a word of the log."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = str(Path(__file__).parent.parent)
DEBUG = "LOGDOCTOR_DEBUG"
"""Environment variable. If it is set and not empty, an error of ours ends the program with its traceback."""


def is_debugging() -> bool:
    return bool(os.environ.get(DEBUG))


def describe(error: BaseException) -> str:
    """Return the type of an error and the innermost place in this package: ``KeyError in logs/signals.py:18``."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(PACKAGE):
            place = f" in {file[len(PACKAGE) + 1 :]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__}{place}"

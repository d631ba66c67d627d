"""Records that break a reader: each costs itself, and not the diagnosis."""

from __future__ import annotations

from logdoctor.model import Problem
from logdoctor.model.own_errors import DEBUG, describe, is_debugging

MAX_PROBLEMS = 16
"""Errors of ours that are reported for one job. Of equal errors only the first is."""
WHAT = "a record was left out, because it breaks logdoctor"
HELP = f"please report it with the line; {DEBUG}=1 shows where it broke"


class BrokenRecords:
    """Problems of records that were left out."""

    def __init__(self, problems: list[Problem]) -> None:
        """Append to ``problems``."""
        self._problems = problems
        self._reported: set[str] = set()

    def add(self, error: Exception, file: str, line: int) -> None:
        """Report ``error``, which a record of ``file`` triggered. Raise it if the user debugs logdoctor."""
        if is_debugging():
            raise error
        why = describe(error)
        if why not in self._reported and len(self._reported) < MAX_PROBLEMS:
            self._reported.add(why)
            self._problems.append(Problem(WHAT, f"{file}:{line}", why, HELP))

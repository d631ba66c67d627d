"""Errors for the user: what happened, where, why, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Problem(Struct, frozen=True):
    """An input that could not be read whole."""

    what: str
    """The event."""
    where: str
    """The file, or the file and line."""
    why: str
    """The reason; empty if not known."""
    help: str = ""
    """The cure; empty if there is none."""


class LogdoctorError(Exception):
    """An error for the user. It says what happened, where (``file:line``), why, and what to do."""

    def __init__(self, what: str, where: str = "", why: str = "", help: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.why, self.help = what, where, why, help

    def __str__(self) -> str:
        """Return the parts that are not empty, one per line."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        return "\n".join([head, *(f"  {k}: {v}" for k, v in (("why", self.why), ("help", self.help)) if v)])

    def as_problem(self) -> Problem:
        return Problem(self.what, self.where, self.why, self.help)


class InputError(LogdoctorError):
    """An input could not be read: it is missing, broken or too large."""


class ManyJobsError(InputError):
    """An input holds several jobs, and one was asked for."""


class RuleError(LogdoctorError):
    """A fault of a rule file or a format file."""


class RulesError(Exception):
    """Faults of one or more such files, in the order of files and lines."""

    def __init__(self, errors: Sequence[RuleError]) -> None:
        super().__init__("\n".join(str(e) for e in errors))
        self.errors = tuple(errors)

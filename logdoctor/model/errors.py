"""Errors a user sees: what happened, where, why, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Problem(Struct, frozen=True):
    """An input that could not be read whole: what happened, where, why, and what to do about it."""

    what: str
    where: str
    why: str
    help: str = ""


class LogdoctorError(Exception):
    """An error with its place and its cure: what happened, where (``file:line``), why, what to do."""

    def __init__(self, what: str, where: str = "", why: str = "", help: str = "") -> None:
        """Keep the four parts; ``str()`` joins those that are known."""
        super().__init__(what)
        self.what, self.where, self.why, self.help = what, where, why, help

    def __str__(self) -> str:
        """All parts that are known, one a line."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        return "\n".join([head, *(f"  {k}: {v}" for k, v in (("why", self.why), ("help", self.help)) if v)])

    def as_problem(self) -> Problem:
        """The same as a row of a report."""
        return Problem(self.what, self.where, self.why, self.help)


class InputError(LogdoctorError):
    """An input could not be read (missing, broken archive, over a bound)."""


class RuleError(LogdoctorError):
    """One fault of a rule file."""


class RulesError(Exception):
    """One or more rule files are wrong; ``errors`` has each fault."""

    def __init__(self, errors: Sequence[RuleError]) -> None:
        """Keep the faults in the order of files and lines."""
        super().__init__("\n".join(str(e) for e in errors))
        self.errors = tuple(errors)

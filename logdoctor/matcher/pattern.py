"""The texts and expressions that the scan searches for."""

from __future__ import annotations

from msgspec import Struct


class Atom(Struct, frozen=True, array_like=True, order=True):
    """A plain text, or an expression if no plain text can stand for a pattern."""

    text: str
    caseless: bool = False
    is_expression: bool = False

    @property
    def expression(self) -> bytes:
        """Return the atom in the syntax that all engines read alike (see `scan_pattern`)."""
        from logdoctor.matcher.regex_ast import escape

        text = self.text if self.is_expression else escape(self.text)
        return f"(?i){text}".encode() if self.caseless else text.encode()


class Pattern(Struct, frozen=True):
    """Atoms of which each line that holds the pattern has at least one.

    ``often``: healthy logs are full of the pattern. ``picks``: the scan picks a line for this pattern. Otherwise the
    pattern is only searched in lines that are picked for others.
    """

    atoms: tuple[Atom, ...]
    often: bool = False
    picks: bool = True

    @classmethod
    def of_form(cls, form: str, *, often: bool = False) -> Pattern:
        """Make a pattern whose only atom is the expression ``form``."""
        return cls((Atom(form, is_expression=True),), often)

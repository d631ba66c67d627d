"""What the scan looks for."""

from __future__ import annotations

from msgspec import Struct


class Pattern(Struct, frozen=True, array_like=True):
    """Something to be found in lines.

    A line is looked at again when one of the ``atoms`` of any pattern hits it (scan forms, see `scanform`); the pattern
    itself is found there if ``whole`` hits.  Without atoms it is only looked for in lines that others found.
    ``often``: healthy logs are full of it.
    """

    atoms: tuple[str, ...]
    whole: str
    often: bool = False

    @classmethod
    def of_form(cls, form: str, *, often: bool = False) -> Pattern:
        """A pattern whose own form is what the scan looks for."""
        return cls((form,), form, often)

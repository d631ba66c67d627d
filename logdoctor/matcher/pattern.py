"""The pattern type of the matcher."""

from __future__ import annotations

from msgspec import Struct


class Pattern(Struct, frozen=True, array_like=True):
    """A pattern to be found in lines.

    ``atoms``: scan forms. The scan picks a line if an atom of any pattern matches (see `scanform`). A pattern without
    atoms is only searched in lines picked for other patterns.
    ``whole``: the form of the whole pattern. The line holds the pattern if this form matches.
    ``often``: healthy logs are full of the pattern.
    """

    atoms: tuple[str, ...]
    whole: str
    often: bool = False

    @classmethod
    def of_form(cls, form: str, *, often: bool = False) -> Pattern:
        """Make a pattern whose whole form is also its atom."""
        return cls((form,), form, often)

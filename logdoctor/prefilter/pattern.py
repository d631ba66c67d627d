"""What the scan looks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """``atoms`` are scan forms (see `scanform`): a line is looked at again when one of them hits.

    ``whole`` must hit as well then; None: the atoms say it all.  ``often``: healthy logs are full of it.
    """

    atoms: tuple[str, ...]
    often: bool = False
    whole: str | None = None

"""The scan: ONE pass of all patterns over large windows finds the few lines that anyone cares about.

Python never touches the other lines.  What comes in: scan forms (`scan_form`) and a ``readinto``; what goes out:
`logdoctor.model.Candidate`, in file order.
"""

from __future__ import annotations

from logdoctor.prefilter.pattern import Pattern
from logdoctor.prefilter.plan import Plan, plan_of
from logdoctor.prefilter.prefilter import Prefilter

__all__ = ["Pattern", "Plan", "Prefilter", "how_dear", "pattern_of", "plan_of", "scan_form"]


def scan_form(regex: str) -> str:
    """See `logdoctor.prefilter.scanform.scan_form` (imported on first need)."""
    from logdoctor.prefilter import scanform

    return scanform.scan_form(regex)


def how_dear(regex: str) -> tuple[float, str, bool]:
    """See `logdoctor.prefilter.scanform.how_dear` (imported on first need)."""
    from logdoctor.prefilter import scanform

    return scanform.how_dear(regex)


def pattern_of(regex: str, *, often: bool = False, within: bool = False) -> Pattern:
    """See `logdoctor.prefilter.scanform.pattern_of` (imported on first need)."""
    from logdoctor.prefilter import scanform

    return scanform.pattern_of(regex, often=often, within=within)

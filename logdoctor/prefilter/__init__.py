"""The matcher, which scans large windows of a log for all patterns.

The scan picks the few lines that a format or a rule asks for. Python never touches the other lines.
Input are scan forms (`scan_form`) and a ``readinto``. Output are `logdoctor.model.Candidate` objects in file order.
"""

from __future__ import annotations

from logdoctor.prefilter.pattern import Pattern
from logdoctor.prefilter.plan import Plan, make_plan
from logdoctor.prefilter.prefilter import Prefilter

__all__ = ["Pattern", "Plan", "Prefilter", "make_pattern", "make_plan", "scan_cost", "scan_form"]


def scan_form(regex: str) -> str:
    """Call `logdoctor.prefilter.scanform.scan_form`, imported at the first call."""
    from logdoctor.prefilter import scanform

    return scanform.scan_form(regex)


def scan_cost(regex: str) -> tuple[float, str, bool]:
    """Call `logdoctor.prefilter.scanform.scan_cost`, imported at the first call."""
    from logdoctor.prefilter import scanform

    return scanform.scan_cost(regex)


def make_pattern(regex: str, *, often: bool = False, within: bool = False) -> Pattern:
    """Call `logdoctor.prefilter.scanform.make_pattern`, imported at the first call."""
    from logdoctor.prefilter import scanform

    return scanform.make_pattern(regex, often=often, within=within)

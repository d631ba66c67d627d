"""The matcher, which scans large windows of a log for all patterns.

The scan picks the few lines that a format or a rule asks for. Python never touches the other lines.
Input are scan forms (`scan_form`) and a ``readinto``. Output are `logdoctor.model.Candidate` objects in file order.
"""

from __future__ import annotations

from collections.abc import Iterable

from logdoctor.matcher.matcher import Matcher
from logdoctor.matcher.pattern import Atom, Pattern
from logdoctor.matcher.plan import Plan, make_plan

__all__ = [
    "Atom",
    "Matcher",
    "Pattern",
    "Plan",
    "literal_pattern",
    "make_pattern",
    "make_plan",
    "scan_cost",
    "scan_form",
]


def scan_form(regex: str) -> str:
    """Call `logdoctor.matcher.scan_pattern.scan_form`, imported at the first call."""
    from logdoctor.matcher import scan_pattern

    return scan_pattern.scan_form(regex)


def scan_cost(regex: str) -> tuple[float, str, bool]:
    """Call `logdoctor.matcher.scan_pattern.scan_cost`, imported at the first call."""
    from logdoctor.matcher import scan_pattern

    return scan_pattern.scan_cost(regex)


def literal_pattern(texts: Iterable[str], *, often: bool = False) -> Pattern:
    """Call `logdoctor.matcher.scan_pattern.literal_pattern`, imported at the first call."""
    from logdoctor.matcher import scan_pattern

    return scan_pattern.literal_pattern(texts, often=often)


def make_pattern(regex: str, *, often: bool = False, picks: bool = True) -> Pattern:
    """Call `logdoctor.matcher.scan_pattern.make_pattern`, imported at the first call."""
    from logdoctor.matcher import scan_pattern

    return scan_pattern.make_pattern(regex, often=often, picks=picks)

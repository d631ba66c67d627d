"""The matcher, which scans large windows of a log for all patterns.

The scan picks the few lines that a format or a rule asks for. Python never touches the other lines.
Input are scan forms (`logdoctor.matcher.scan_pattern`) and a ``readinto``. Output are `logdoctor.model.Candidate`
objects in file order.
"""

from __future__ import annotations

from logdoctor.matcher.matcher import Matcher
from logdoctor.matcher.pattern import Atom, Pattern
from logdoctor.matcher.plan import Plan, make_plan

__all__ = ["Atom", "Matcher", "Pattern", "Plan", "make_plan"]

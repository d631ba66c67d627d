"""How much a finding says: of two that stand side by side the one of the weightier role, then of the stronger proof."""

from __future__ import annotations

from logdoctor.model import Finding

ROLES = ("cause", "symptom", "fallback", "benign")
TIERS = {"proof": 0, "strong": 0, "likely": 1, "hint": 2}
"""What proves and what is strong rank alike: the earlier one of the two counts."""


def order_of_merit(finding: Finding) -> tuple[int, int, int, bool, str]:
    """Findings sorted by this stand best first."""
    rule = finding.rule
    return ROLES.index(rule.role), TIERS[rule.strength], finding.first, rule.id == rule.signature, rule.id

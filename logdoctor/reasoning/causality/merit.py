"""Order of findings: role, then strength, then position in the log."""

from __future__ import annotations

from logdoctor.model import Finding

ROLES = ("cause", "symptom", "fallback", "benign")
TIERS = {"proof": 0, "strong": 0, "likely": 1, "hint": 2}
"""Order of strengths.  A proof and a strong finding are equal, so the earlier one comes first."""


def sort_key(finding: Finding) -> tuple[int, int, int, bool, str]:
    """Return the sort key of a finding.

    The best finding comes first.
    """
    rule = finding.rule
    return ROLES.index(rule.role), TIERS[rule.strength], finding.first, rule.id == rule.signature, rule.id

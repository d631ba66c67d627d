"""Tied causes: the logs do not decide between them.

The classifier may prefer one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from logdoctor.model import Finding
from logdoctor.reasoning.causality.confidence import rivals
from logdoctor.reasoning.causality.roots import Ranking
from logdoctor.reasoning.lifecycle.clocks import elapsed

Preference = Callable[[Sequence[str]], str | None]
"""Function that returns the signature that is much more likely than the others, or None."""


def break_ties(ranking: Ranking, prefer: Preference) -> Ranking:
    """Put the preferred one of the tied causes in front."""
    tied = tied_causes(ranking.causes)
    wanted = prefer([f.rule.signature for f in tied]) if len(tied) > 1 else None
    chosen = next((f for f in tied[1:] if f.rule.signature == wanted), None)
    if chosen is None:
        return ranking
    rest = tuple(f for f in ranking.causes if f is not chosen)
    return replace(ranking, causes=(chosen, *rest), preferred=chosen)


def tied_causes(causes: Sequence[Finding]) -> list[Finding]:
    """Return the first cause and rivals in unknown order."""
    if not causes:
        return []
    first = causes[0]
    return [first, *(c for c in rivals(first, causes) if _are_unordered(first, c))]


def _are_unordered(a: Finding, b: Finding) -> bool:
    """Return whether the order of two failures is unknown.

    They rest on one line, or on files whose times cannot be compared.
    """
    first, second = a.records[0], b.records[0]
    if a.rule.signature == b.rule.signature:
        return False
    return first.order == second.order or (first.line.file != second.line.file and elapsed(first, second) is None)

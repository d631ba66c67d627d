"""Causes between which nothing in the logs decides, and whom one may ask then."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from logdoctor.model import Finding
from logdoctor.reasoning.causality.confidence import rivals
from logdoctor.reasoning.causality.ranking import Ranked
from logdoctor.reasoning.lifecycle.clocks import elapsed

Prefer = Callable[[Sequence[str]], str | None]
"""Of some signatures the one that is much more likely than the others, or None."""


def broken(ranked: Ranked, prefer: Prefer) -> Ranked:
    """``ranked`` with the preferred one of its tied first causes in front, else as it is."""
    tied = tied_causes(ranked.causes)
    wanted = prefer([f.rule.signature for f in tied]) if len(tied) > 1 else None
    chosen = next((f for f in tied[1:] if f.rule.signature == wanted), None)
    if chosen is None:
        return ranked
    rest = tuple(f for f in ranked.causes if f is not chosen)
    return replace(ranked, causes=(chosen, *rest), preferred=chosen)


def tied_causes(causes: Sequence[Finding]) -> list[Finding]:
    """The first cause and those of equal standing that the logs neither put before it nor after it."""
    if not causes:
        return []
    first = causes[0]
    return [first, *(c for c in rivals(first, causes) if _never_ordered(first, c))]


def _never_ordered(a: Finding, b: Finding) -> bool:
    """They name different failures, and rest on the same line, or on files whose times cannot be compared."""
    one, other = a.records[0], b.records[0]
    if a.rule.signature == b.rule.signature:
        return False
    return one.order == other.order or (one.line.file != other.line.file and elapsed(one, other) is None)

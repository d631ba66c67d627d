"""The decisions of several jobs as one text, because jobs with one cause may need different ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def tell_decisions(counts: Mapping[str, int], name: Callable[[str], str] = str) -> str:
    """Return ``requeue (3), fix-first (1)``, the most frequent first, or ``requeue`` if it is that of all jobs.

    ``name`` gives the words for a decision.
    """
    ordered = sorted((pair for pair in counts.items() if pair[0]), key=lambda pair: (-pair[1], pair[0]))
    if len(ordered) == 1:
        return name(ordered[0][0])
    return ", ".join(f"{name(decision)} ({count:,})" for decision, count in ordered)

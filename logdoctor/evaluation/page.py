"""The figures as one self-contained page with plots; it loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from logdoctor.evaluation.scores import Scores
from logdoctor.render import standalone_html

WIDTH, HEIGHT = 320, 240
"""Of a plot, without its margins."""


def page(scores: Sequence[Scores], cases: str) -> str:
    """A page about ``scores``: first what is judged, then the baselines beside it."""
    made = standalone_html.environment("logdoctor.evaluation")
    made.filters |= {"share": share, "points": points}
    return made.get_template("page.html.j2").render(
        scores=scores, cases=cases, width=WIDTH, height=HEIGHT, **standalone_html.assets(made, style=["page.css"])
    )


def share(value: float | None) -> str:
    """A share as people read it; a count as it is."""
    if value is None or value != value:  # noqa: PLR0124 - not a number
        return "–"
    return f"{value:.1%}" if isinstance(value, float) else f"{value:,}"


def points(pairs: Iterable[tuple[float, float]]) -> str:
    """Pairs from 0 to 1 as the points of an SVG line."""
    return " ".join(f"{x * WIDTH:.1f},{(1 - y) * HEIGHT:.1f}" for x, y in pairs)

"""The evaluation as one self-contained HTML page with plots.

The page loads nothing and has no scripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from logdoctor.evaluation.scores import Scores
from logdoctor.render import standalone_html

WIDTH, HEIGHT = 320, 240
"""Size of a plot without margins."""


def render_page(scores: Sequence[Scores], cases: str) -> str:
    """Render the page.  ``scores`` begins with the evaluated answers, then come the baselines."""
    environment = standalone_html.environment("logdoctor.evaluation")
    environment.filters |= {"share": _format_share, "points": _svg_points}
    return environment.get_template("page.html.j2").render(
        scores=scores,
        cases=cases,
        width=WIDTH,
        height=HEIGHT,
        **standalone_html.assets(environment, style=["page.css"]),
    )


def _format_share(value: float | None) -> str:
    """Format a share as ``12.5%`` and a count as ``1,250``."""
    if value is None or value != value:  # noqa: PLR0124 - not a number
        return "–"
    return f"{value:.1%}" if isinstance(value, float) else f"{value:,}"


def _svg_points(pairs: Iterable[tuple[float, float]]) -> str:
    """Convert pairs (0 to 1) to the points of an SVG line."""
    return " ".join(f"{x * WIDTH:.1f},{(1 - y) * HEIGHT:.1f}" for x, y in pairs)

"""The figures as one self-contained page with plots; it loads nothing and runs nothing."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256

from logdoctor.evaluation.scores import Scores

WIDTH, HEIGHT = 320, 240
"""Of a plot, without its margins."""


def page(scores: Sequence[Scores], cases: str) -> str:
    """A page about ``scores``: first what is judged, then the baselines beside it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("logdoctor.evaluation")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"share": share, "points": points}
    style = "\n" + loader.get_source(environment, "page.css")[0]
    return environment.get_template("page.html.j2").render(
        scores=scores,
        cases=cases,
        width=WIDTH,
        height=HEIGHT,
        style=Markup(style),  # noqa: S704 - our own file
        style_digest=f"sha256-{b64encode(sha256(style.encode()).digest()).decode()}",
    )


def share(value: float | None) -> str:
    """A share as people read it; a count as it is."""
    if value is None or value != value:  # noqa: PLR0124 - not a number
        return "–"
    return f"{value:.1%}" if isinstance(value, float) else f"{value:,}"


def points(pairs: Iterable[tuple[float, float]]) -> str:
    """Pairs from 0 to 1 as the points of an SVG line."""
    return " ".join(f"{x * WIDTH:.1f},{(1 - y) * HEIGHT:.1f}" for x, y in pairs)

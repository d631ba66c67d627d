"""The page for a browser: what is drawn on it, and how it is kept small and closed (``templates/html/``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from logdoctor.model import Diagnosis
from logdoctor.model.escape import escape_all
from logdoctor.render import closed_page
from logdoctor.render.budget import BUDGETS, Budget, cut
from logdoctor.render.collective_grid import grids
from logdoctor.render.consequences import Consequence, consequences, reached
from logdoctor.render.facts import facts
from logdoctor.render.rank_map import rank_map
from logdoctor.render.rank_rows import rank_line
from logdoctor.render.report import Page, Report, is_link, report
from logdoctor.render.timeline import file_of_all, timeline

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

MOST_BYTES = 1_500_000

_CODE = r"`([^`]+)`"


def drawn(diagnosis: Diagnosis, page: Page) -> str:
    """Give the report of ``diagnosis`` as a page of at most `MOST_BYTES`; what was cut for that is said in it."""
    told = escape_all(diagnosis, tab=" ")
    made = ""
    for budget in BUDGETS:
        kept = cut(told, budget)
        shortened = kept != told or len(told.picture.rank_table) > budget.ranks
        made = _made(kept, page, budget, shortened=shortened)
        if len(made) * 4 <= MOST_BYTES or len(made.encode()) <= MOST_BYTES:
            break
    return made


def _made(told: Diagnosis, page: Page, budget: Budget, *, shortened: bool) -> str:
    template, assets = _page()
    words, picture = page.words, told.picture
    about = report(told, words)
    file, each = file_of_all(told), picture.rank_table[: budget.ranks]
    trees, others = _trees(about)
    lanes = timeline(told, words)
    return template.render(
        told=about,
        words=words,
        trees=trees,
        others=others,
        time=lanes,
        hosts=rank_map(each, words),
        everyone=[(row.role, rank_line([row], words, file)) for row in each] if len(each) > len(lanes.lanes) else [],
        grids=grids(picture, words),
        facts=facts(picture, words),
        environment=picture.environment,
        made_by=told.made_by,
        shortened=shortened,
        **assets,
    )


def _trees(about: Report) -> tuple[list[tuple[str, str, tuple[Consequence, ...]]], list[Any]]:
    """What followed from each fault, and the fallout that hangs on none of them."""
    faults = [one for one in (about.answer, *about.also) if one]
    trees = [(one.signature, one.title, consequences(one.signature, about.fallout)) for one in faults]
    hanging = {row for _, _, tree in trees for row in reached(tree)}
    return [tree for tree in trees if tree[2]], [row for row in about.fallout if id(row) not in hanging]


def prose(text: str) -> Markup:
    """Give a rule's sentence with what it puts in backticks as code."""
    from markupsafe import Markup

    forms = (Markup("{}"), Markup("<code>{}</code>"))
    return Markup("").join(forms[place % 2].format(part) for place, part in enumerate(re.split(_CODE, text)))


@lru_cache(maxsize=1)
def _page() -> tuple[Template, Mapping[str, object]]:
    """Give the template, and its style and script with their hashes: its policy allows these and nothing else."""
    made = closed_page.environment("logdoctor.render")
    made.filters["prose"] = prose
    made.tests["link"] = is_link
    return made.get_template("html/page.j2"), closed_page.assets(
        made, style=["html/report.css"], script=["html/report.js"]
    )

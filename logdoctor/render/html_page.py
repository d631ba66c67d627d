"""The report as an HTML page, from the templates in ``templates/html/``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from logdoctor.model import Diagnosis
from logdoctor.model.escape import escape_all
from logdoctor.render import standalone_html
from logdoctor.render.answer_document import document
from logdoctor.render.budget import BUDGETS, Budget, truncate
from logdoctor.render.collective_grid import grids
from logdoctor.render.consequences import Consequence, consequences, row_ids
from logdoctor.render.document import LogLine, Paragraph, RenderOptions, Row, Task
from logdoctor.render.job_facts import job_facts
from logdoctor.render.phrases import is_link, what_was_read
from logdoctor.render.rank_grid import rank_grid
from logdoctor.render.rank_table import rank_line
from logdoctor.render.timeline import shared_file, timeline

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

MOST_BYTES = 1_500_000

_CODE = r"`([^`]+)`"


def render_page(diagnosis: Diagnosis, options: RenderOptions) -> str:
    """Return a page of at most `MOST_BYTES`. Texts and lists are cut until the page fits. A cut page says so."""
    escaped = escape_all(diagnosis, tab=" ")
    page = ""
    for budget in BUDGETS:
        part = truncate(escaped, budget)
        shortened = part != escaped or len(escaped.job.rank_table) > budget.ranks
        page = _fill(part, options, budget, shortened=shortened)
        if len(page) * 4 <= MOST_BYTES or len(page.encode()) <= MOST_BYTES:
            break
    return page


def _fill(diagnosis: Diagnosis, options: RenderOptions, budget: Budget, *, shortened: bool) -> str:
    template, assets = _template()
    words, job = options.words, diagnosis.job
    page = document(diagnosis, words)
    file, rows = shared_file(diagnosis), job.rank_table
    fallout = page.section("fallout")
    trees, others = _trees(diagnosis, [row for row in fallout.blocks if isinstance(row, Row)] if fallout else [])
    lanes = timeline(diagnosis, words)
    single = rows if len(lanes.lanes) < len(rows) <= budget.ranks else ()
    return template.render(
        page=page,
        words=words,
        trees=trees,
        others=others,
        time=lanes,
        map=rank_grid(rows, words),
        all_ranks=[(row.role, rank_line([row], words, file)) for row in single],
        grids=grids(job, words),
        facts=job_facts(job, words),
        read=what_was_read(diagnosis, words),
        environment=job.environment,
        made_by=diagnosis.made_by,
        rule=diagnosis.answer.rule if diagnosis.answer else "",
        shortened=shortened,
        **assets,
    )


def _trees(
    diagnosis: Diagnosis, fallout: Sequence[Row]
) -> tuple[list[tuple[str, str, tuple[Consequence, ...]]], list[Row]]:
    """Return a tree of consequences per fault, and all other fallout."""
    faults = [diagnosis.answer, *diagnosis.further_faults] if diagnosis.answer else []
    trees = [(fault.signature, fault.title, consequences(fault.signature, fallout)) for fault in faults]
    in_trees = {row for _, _, tree in trees for row in row_ids(tree)}
    return [tree for tree in trees if tree[2]], [row for row in fallout if id(row) not in in_trees]


_BLOCKS: Mapping[str, type] = {"paragraph": Paragraph, "log_line": LogLine, "task": Task, "row": Row}
"""Tests of the templates for the kinds of blocks."""


def _is_a(kind: type) -> Callable[[object], bool]:
    return lambda block: isinstance(block, kind)


def prose(text: str) -> Markup:
    """Return a sentence of a rule as HTML. Backticks become ``<code>``."""
    from markupsafe import Markup

    forms = (Markup("{}"), Markup("<code>{}</code>"))
    return Markup("").join(forms[place % 2].format(part) for place, part in enumerate(re.split(_CODE, text)))


@lru_cache(maxsize=1)
def _template() -> tuple[Template, Mapping[str, object]]:
    templates = standalone_html.environment("logdoctor.render")
    templates.filters["prose"] = prose
    templates.tests |= {"link": is_link, **{name: _is_a(kind) for name, kind in _BLOCKS.items()}}
    assets = standalone_html.assets(templates, style=["html/report.css"], script=["html/report.js"])
    return templates.get_template("html/page.j2"), assets

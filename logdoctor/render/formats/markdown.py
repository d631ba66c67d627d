"""Markdown for tickets and chats. No text of a log can act as markup."""

from __future__ import annotations

import re
from collections.abc import Sequence

from logdoctor.model import Diagnosis
from logdoctor.render.answer_document import document
from logdoctor.render.columns import shorten
from logdoctor.render.document import RenderOptions
from logdoctor.render.ticket import LONGEST, Markup, write

SHARED = True

_MARKUP = r"[\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
_OPENING = r"^([#+=-]|\d{1,9}(?=[.)](?:\s|$)))"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def render(diagnosis: Diagnosis, options: RenderOptions) -> str:
    """Return the report of ``diagnosis`` as GitHub-flavoured Markdown."""
    return write(document(diagnosis, options.words), options.words, MARKUP)


def escape_markup(text: str) -> str:
    """Escape ``text`` for Markdown: ``<b>`` becomes ``&lt;b&gt;``."""
    text = re.sub("[&<>]", lambda found: _ENTITIES[found[0]], text)
    text = re.sub(_MARKUP, lambda found: "\\" + found[0], text)
    return re.sub(_OPENING, lambda found: found[1] + "\\" if found[1].isdigit() else "\\" + found[1], text)


def code(text: str) -> str:
    """Return ``text`` as a code span. Its fence has more backticks than the text."""
    ticks = _fence(text, 1)
    pad = " " if text[:1] in {"`", " ", ""} or text[-1:] in {"`", " "} else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def cell(text: str) -> str:
    """Return ``text`` as a code span for a table. Bars are escaped, because they would end the cell."""
    return code(text).replace("|", "\\|")


def block(text: str, indent: int = 0) -> str:
    """Return a log line or commands as a fenced block, indented by ``indent`` columns."""
    fence = _fence(text, 3)
    lines = (f"{fence}text", *(shorten(line, LONGEST) for line in text.split("\n")), fence)
    return "\n" + "\n".join(" " * indent + line for line in lines)


def _head(cells: Sequence[str]) -> str:
    return f"{_row(cells)}\n{_row(['---'] * len(cells))}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _fold(summary: str) -> tuple[str, str]:
    return f"<details>\n<summary>{escape_markup(summary)}</summary>", "</details>"


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)


MARKUP = Markup(
    heading=lambda level, text: f"{'#' * level} {escape_markup(text)}",
    escape=escape_markup,
    code=code,
    cell=cell,
    link=lambda text: f"<{text}>",
    item="-",
    task="{}.".format,
    block=block,
    row=_row,
    head=_head,
    fold=_fold,
)

"""For tickets and chats: Markdown in which no text of a log can be markup (``templates/report.md.j2``)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from logdoctor.model import Diagnosis
from logdoctor.render.columns import shorten
from logdoctor.render.report import Page, is_link, report

if TYPE_CHECKING:
    from jinja2 import Template

NAME = "markdown"

_LONGEST = 600
"""A line of a log is shortened to so many columns: a ticket is for reading, the place says where the rest is."""

# Patterns are compiled when they are first used: most runs of the program never need them.
_CODE = r"`([^`]+)`"
_MARKUP = r"[\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
_OPENING = r"^([#+=-]|\d{1,9}(?=[.)](?:\s|$)))"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def render(diagnosis: Diagnosis, page: Page) -> str:
    """Give the report of ``diagnosis`` as GitHub-flavoured Markdown."""
    return _template().render(told=report(diagnosis, page.words), words=page.words)


def escaped(text: str) -> str:
    """Give ``text`` so that Markdown shows it as it is: no markup, no HTML, no table cell, no list."""
    text = re.sub("[&<>]", lambda found: _ENTITIES[found[0]], text)
    text = re.sub(_MARKUP, lambda found: "\\" + found[0], text)
    return re.sub(_OPENING, lambda found: found[1] + "\\" if found[1].isdigit() else "\\" + found[1], text)


def code(text: str) -> str:
    """Give ``text`` as a code span, whatever backticks it holds."""
    ticks = _fence(text, 1)
    pad = " " if text[:1] in {"`", " ", ""} or text[-1:] in {"`", " "} else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def cell(text: str) -> str:
    """Give ``text`` as a code span for a cell of a table: a bar would end the cell even there."""
    return code(text).replace("|", "\\|")


def prose(text: str) -> str:
    """Give a rule's sentence: what it puts in backticks stays code, everything else is escaped."""
    parts = re.split(_CODE, text)
    return "".join(code(part) if place % 2 else escaped(part) for place, part in enumerate(parts))


def block(text: str, indent: int = 0) -> str:
    """Give a line of a log as a fenced block, ``indent`` columns deep in a list."""
    fence = _fence(text, 3)
    return ("\n" + " " * indent).join((f"{fence}text", shorten(text, _LONGEST), fence))


def link(text: str) -> str:
    """Give a reference as a link if it is a plain web address, else as text."""
    return f"<{text}>" if is_link(text) else escaped(text)


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)


@lru_cache(maxsize=1)
def _template() -> Template:
    # Imported here because most runs of the program never need it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # Autoescape is for HTML and would be wrong here; every value in the template passes one of the filters.
    environment = Environment(  # noqa: S701
        loader=PackageLoader("logdoctor.render"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    for way in (escaped, prose, code, cell, block, link):
        environment.filters[way.__name__] = way
    return environment.get_template("report.md.j2")

"""Markdown for tickets and chats, from the template ``templates/report.md.j2``.

No text of a log can act as markup.
"""

from __future__ import annotations

import re

from logdoctor.model import Diagnosis
from logdoctor.render import markup
from logdoctor.render.columns import shorten
from logdoctor.render.report import RenderOptions, is_link, report

SHARED = True

# Patterns are compiled on first use, because most runs of the program never need them.
_MARKUP = r"[\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
_OPENING = r"^([#+=-]|\d{1,9}(?=[.)](?:\s|$)))"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def render(diagnosis: Diagnosis, options: RenderOptions) -> str:
    """Return the report of ``diagnosis`` as GitHub-flavoured Markdown."""
    template = markup.template("report.md.j2", escape_markup, prose, code, cell, block, link)
    return template.render(report=report(diagnosis, options.words), words=options.words)


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


def prose(text: str) -> str:
    """Escape a sentence of a rule. What it puts in backticks stays code."""
    return markup.prose(text, code, escape_markup)


def block(text: str, indent: int = 0) -> str:
    """Return a log line as a fenced block, indented by ``indent`` columns."""
    fence = _fence(text, 3)
    return ("\n" + " " * indent).join((f"{fence}text", shorten(text, markup.LONGEST), fence))


def link(text: str) -> str:
    """Return a link for a plain web address, else escaped text."""
    return f"<{text}>" if is_link(text) else escape_markup(text)


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)

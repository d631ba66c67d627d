"""For tickets and chats: Markdown in which no text of a log can be markup (``templates/report.md.j2``)."""

from __future__ import annotations

import re

from logdoctor.model import Diagnosis
from logdoctor.render import markup
from logdoctor.render.columns import shorten
from logdoctor.render.report import Page, is_link, report

SHARED = True

# Patterns are compiled when they are first used: most runs of the program never need them.
_MARKUP = r"[\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
_OPENING = r"^([#+=-]|\d{1,9}(?=[.)](?:\s|$)))"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def render(diagnosis: Diagnosis, page: Page) -> str:
    """Give the report of ``diagnosis`` as GitHub-flavoured Markdown."""
    ways = (escaped, prose, code, cell, block, link)
    return markup.template("report.md.j2", *ways).render(told=report(diagnosis, page.words), words=page.words)


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
    return markup.prose(text, code, escaped)


def block(text: str, indent: int = 0) -> str:
    """Give a line of a log as a fenced block, ``indent`` columns deep in a list."""
    fence = _fence(text, 3)
    return ("\n" + " " * indent).join((f"{fence}text", shorten(text, markup.LONGEST), fence))


def link(text: str) -> str:
    """Give a reference as a link if it is a plain web address, else as text."""
    return f"<{text}>" if is_link(text) else escaped(text)


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)

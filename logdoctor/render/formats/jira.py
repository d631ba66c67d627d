"""Jira wiki markup for tickets, from the template ``templates/report.jira.j2``.

No text of a log can act as markup. Evidence, fallout and ranks come last, below a rule, because the markup has no
fold.
"""

from __future__ import annotations

import re

from logdoctor.model import Diagnosis
from logdoctor.render import markup
from logdoctor.render.columns import shorten
from logdoctor.render.report import RenderOptions, is_link, report

SHARED = True

# A literal backslash must be an entity, because a backslash before markup is an escape.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": "&#92;"}
_ALWAYS = r"[{}\[\]|!]"
_AT_WORD_EDGE = r"(?<![A-Za-z0-9])[*_+^~?-]|[*_+^~?-](?![A-Za-z0-9])"
_EMOTICON = r"\((?=[xyinof/!?+*-])|[:;](?=-?[)(DPp])"
_OPENING = r"^(?:#|(?:h[1-6]|bq)(?=\.))"


def render(diagnosis: Diagnosis, options: RenderOptions) -> str:
    """Return the report of ``diagnosis`` as wiki markup."""
    template = markup.template("report.jira.j2", escape_markup, prose, code, block, link)
    return template.render(report=report(diagnosis, options.words), words=options.words)


def escape_markup(text: str) -> str:
    """Escape ``text`` so that Jira shows every character as it is."""
    text = re.sub(r"[&<>\\]", lambda found: _ENTITIES[found[0]], text)
    text = re.sub(f"{_ALWAYS}|{_AT_WORD_EDGE}|{_EMOTICON}", lambda found: "\\" + found[0], text)
    return re.sub(_OPENING, lambda found: "".join(f"&#{ord(char)};" for char in found[0]), text)


def code(text: str) -> str:
    return "{{" + escape_markup(text) + "}}" if text else ""


def prose(text: str) -> str:
    """Escape a sentence of a rule. What it puts in backticks becomes code."""
    return markup.prose(text, code, escape_markup)


def block(text: str) -> str:
    """Return a log line as a ``{noformat}`` block.

    A ``{noformat}`` in the line gets a space after its brace, because it would end the block.
    """
    line = re.sub(r"(?i)\{(?=\s*noformat)", "{ ", shorten(text, markup.LONGEST))
    return "{noformat}\n" + line + "\n{noformat}"


def link(text: str) -> str:
    """Return a link for a plain web address, else escaped text."""
    return f"[{text}]" if is_link(text) else escape_markup(text)

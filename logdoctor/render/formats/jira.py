"""Jira wiki markup for tickets. No text of a log can act as markup. The details follow below a rule."""

from __future__ import annotations

import re

from logdoctor.model import Diagnosis
from logdoctor.render.answer_document import document
from logdoctor.render.columns import shorten
from logdoctor.render.document import RenderOptions
from logdoctor.render.ticket import LONGEST, Markup, write

SHARED = True

# A literal backslash must be an entity, because a backslash before markup is an escape.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": "&#92;"}
_ALWAYS = r"[{}\[\]|!]"
_AT_WORD_EDGE = r"(?<![A-Za-z0-9])[*_+^~?-]|[*_+^~?-](?![A-Za-z0-9])"
_EMOTICON = r"\((?=[xyinof/!?+*-])|[:;](?=-?[)(DPp])"
_OPENING = r"^(?:#|(?:h[1-6]|bq)(?=\.))"


def render(diagnosis: Diagnosis, options: RenderOptions) -> str:
    """Return the report of ``diagnosis`` as wiki markup."""
    return write(document(diagnosis, options.words), options.words, MARKUP)


def escape_markup(text: str) -> str:
    """Escape ``text`` so that Jira shows every character as it is."""
    text = re.sub(r"[&<>\\]", lambda found: _ENTITIES[found[0]], text)
    text = re.sub(f"{_ALWAYS}|{_AT_WORD_EDGE}|{_EMOTICON}", lambda found: "\\" + found[0], text)
    return re.sub(_OPENING, lambda found: "".join(f"&#{ord(char)};" for char in found[0]), text)


def code(text: str) -> str:
    return "{{" + escape_markup(text) + "}}" if text else ""


def block(text: str, indent: int = 0) -> str:  # noqa: ARG001 - the markup has no indented blocks
    """Return a log line or commands as a ``{noformat}`` block.

    A ``{noformat}`` in the line gets a space after its brace, because it would end the block.
    """
    lines = (re.sub(r"(?i)\{(?=\s*noformat)", "{ ", shorten(line, LONGEST)) for line in text.split("\n"))
    return "\n".join(("{noformat}", *lines, "{noformat}"))


MARKUP = Markup(
    heading=lambda level, text: f"h{level}. {escape_markup(text)}",
    escape=escape_markup,
    code=code,
    cell=code,
    link=lambda text: f"[{text}]",
    item="*",
    task="{}.".format,
    block=block,
    row=lambda cells: f"|{'|'.join(cell or ' ' for cell in cells)}|",
    head=lambda cells: f"||{'||'.join(cells)}||",
    fold=lambda summary: (f"----\nh3. {escape_markup(summary)}", ""),
)

"""For tickets in Jira: its wiki markup, in which no text of a log can be markup (``templates/report.jira.j2``).

The markup has no fold of its own, so what takes room (evidence, fallout, ranks) comes last, below a rule.
"""

from __future__ import annotations

import re

from logdoctor.model import Diagnosis
from logdoctor.render import markup
from logdoctor.render.columns import shorten
from logdoctor.render.report import Page, is_link, report

SHARED = True

# A backslash that is meant has no other spelling than an entity: before markup it would be an escape.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": "&#92;"}
_ALWAYS = r"[{}\[\]|!]"
_AT_A_WORDS_EDGE = r"(?<![A-Za-z0-9])[*_+^~?-]|[*_+^~?-](?![A-Za-z0-9])"
_FACES = r"\((?=[xyinof/!?+*-])|[:;](?=-?[)(DPp])"
_OPENING = r"^(?:#|(?:h[1-6]|bq)(?=\.))"


def render(diagnosis: Diagnosis, page: Page) -> str:
    """Give the report of ``diagnosis`` as wiki markup."""
    ways = (escaped, prose, code, block, link)
    return markup.template("report.jira.j2", *ways).render(told=report(diagnosis, page.words), words=page.words)


def escaped(text: str) -> str:
    """Give ``text`` so that Jira shows it as it is: no markup, no macro, no face, no list, no heading."""
    text = re.sub(r"[&<>\\]", lambda found: _ENTITIES[found[0]], text)
    text = re.sub(f"{_ALWAYS}|{_AT_A_WORDS_EDGE}|{_FACES}", lambda found: "\\" + found[0], text)
    return re.sub(_OPENING, lambda found: "".join(f"&#{ord(char)};" for char in found[0]), text)


def code(text: str) -> str:
    """Give ``text`` in letters of one width."""
    return "{{" + escaped(text) + "}}" if text else ""


def prose(text: str) -> str:
    """Give a rule's sentence: what it puts in backticks becomes code, everything else is escaped."""
    return markup.prose(text, code, escaped)


def block(text: str) -> str:
    """Give a line of a log as it is; the one thing that would end such a block is taken apart."""
    kept = re.sub(r"(?i)\{(?=\s*noformat)", "{ ", shorten(text, markup.LONGEST))
    return "{noformat}\n" + kept + "\n{noformat}"


def link(text: str) -> str:
    """Give a reference as a link if it is a plain web address, else as text."""
    return f"[{text}]" if is_link(text) else escaped(text)

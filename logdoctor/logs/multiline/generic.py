"""Lines that look like a failure, and those of them that are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_EMPTY = later(
    r"^\W*(?:$|(?:none|null|nil|no|false|true|n/?a|0|ok)\b|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?\s*%?\s*(?:$|[,;|/)\]]))|"
    r"^\W*(?:rate|count|bars?|handl\w+|code|message|log|level|margin|threshold|toleran\w+|loss|budget)s?\b\s*[:=]",
    regex.IGNORECASE,
)
_MEASURED = later(r"^(?:in|of|for) [A-Za-z][\w ()/-]{0,60}[:=] *[-+]?\d+\.\d+(?:[eEdD][-+]?\d+)?\b")
"""A program names the error of its numbers (``error in Hartree potential : 0.0012 Ha``)."""
_DEBRIS = later(r"^(?:[\d:./-]+ ){0,2}\[[\w.]+:\d+\](?: {2,}|\s*\^|\s*$)|^\s*\^+\s*$")
"""A line of a stack whose every line got the logger's prefix."""
_STACK = later(
    r"^(?:\s{2,}|\s*$|\s*\^+|Traceback \(|frame #\d|During handling of the above|"
    "The above exception)"
)
_CALM = later(
    r"\b(?:no|0|zero|without(?: any)?|any) (?:fatal |critical )?errors?\b(?! file)|\berror[- ]free\b", regex.IGNORECASE
)
_ROOT = later(r"\bCRITICAL\b[\])>:|\s-]{1,4}root\b")
_TELLS = later(
    r"error|exception|fail|fatal|abort|invalid|illegal|missing|unable|cannot|can't|could not|couldn't|not found|"
    r"no such|denied|refused|unexpected|corrupt|lost|broken|killed|dead\b|died|crash|exceed|timed? ?out|out of|full\b|"
    r"\bnan\b|\binf\b|exiting|giving up|stopp|shutting down|unreachable|disconnect",
    regex.IGNORECASE,
)
"""Scripts print with ``logging.critical`` what shall stand out: such a line counts where it speaks of trouble."""


def read_message(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Read a line with a level, unless its message tells of no error.

    That is a number, a setting, or a text such as "no error".
    """
    message = str(fields.get("message", ""))
    if _EMPTY.match(message) or _MEASURED.match(message) or _DEBRIS.match(message) or _CALM.search(head.text):
        return None
    if _ROOT.search(head.text) and not _TELLS.search(message):
        return None
    level = head.source.level if head.source.level in ("warning", "info") else None
    return Multiline(head.text, level=level)


def read_spoken(head: Message, _fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Read a line whose stripped prefix has level error or fatal. Return None for lines of a stack."""
    level = head.source.level
    if level not in ("error", "fatal") or _STACK.match(head.text) or _CALM.search(head.text):
        return None
    if level == "fatal" and head.source.logger == "root" and not _TELLS.search(head.text):
        return None
    return Multiline(head.text, level=level)

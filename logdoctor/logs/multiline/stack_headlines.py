"""Headlines of scripts above the stacks of a rank.

Examples: ``=== rank 3 on node7 ===``, ``==> rank3.txt <==``.
"""

from __future__ import annotations

from logdoctor.model import Value
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import later

STACK_HEADLINE = (
    r"^ {0,8}(?:={2,3}|-{3}|#{3}|\*{3}|>{3}|==>)[^\n]{0,80}?(?<![A-Za-z])(?<!local[ _-])(?i:rank)[ _:=#-]{0,3}"
    r"(?P<rank>\d{1,7})(?!\d)[^\n]{0,120}$"
)
_PID = later(r"(?i)\bpid[ =:]{1,3}(?P<pid>\d{1,10})\b")
_HOST = later(r"(?:\b(?:on|host|node)|@)[ :=]+(?P<host>[A-Za-z][\w-]*\d[\w.-]*)")
_HEADLINE = later(STACK_HEADLINE)


def is_headline(line: str) -> bool:
    return line[:1] in "=-#*> " and _HEADLINE.match(line) is not None


def headline_fields(headline: str) -> dict[str, Value]:
    """Return the host and pid in a headline, as fields.

    ``=== rank 3 on node7 (pid 71) ===`` gives ``host: node7`` and ``pid: 71``.
    """
    host, pid = _HOST.search(headline), _PID.search(headline)
    return {**({"host": host["host"]} if host else {}), **(number_fields(pid.groupdict()) if pid else {})}

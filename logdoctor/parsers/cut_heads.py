"""The head of a file that begins within a line (``tail -c``, a rotated log): a name of which only the end is left."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from logdoctor.parsers.peeling import Who
from logdoctor.regexes import later

MAX_LINES = 64
"""So many lines below are looked at; a process names its host on each line of its start."""
SEARCHED = 1000
_PROCESS = later(r"(?<![\w.-])(?P<host>[\w.-]{1,255}):(?P<pid>\d{1,10}):")


def made_whole(who: Who, below: Iterable[bytes]) -> Who:
    """``who``, with the host by which the next of its process's lines ``below`` (raw) names it, if it ends alike."""
    host, pid = who.get("host"), who.get("pid")
    for line in islice(below, MAX_LINES) if host and pid else ():
        for named in _PROCESS.finditer(line[:SEARCHED].decode("utf-8", "replace")):
            if named["pid"] == pid and named["host"].endswith(host):
                return {**who, "host": named["host"]}
    return who

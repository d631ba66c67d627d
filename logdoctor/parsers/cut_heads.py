"""The head of a file that begins within a line (``tail -c``, a rotated log): a name of which only the end is left."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import regex

from logdoctor.parsers.peeling import Who

MAX_LINES = 64
"""So many lines below are looked at; a process names its host on each line of its start."""
MAX_NAME = 255
SEARCHED = 1000


def made_whole(who: Who, below: Iterable[bytes]) -> Who:
    """``who``, with the longer name of its host if the same process says it ``below`` (raw lines)."""
    host, pid = who.get("host"), who.get("pid")
    if not host or not pid:
        return who
    longer = regex.compile(rf"(?<![\w.-])[\w.-]{{1,{MAX_NAME}}}{regex.escape(host)}(?=:{regex.escape(pid)}:)")
    for line in islice(below, MAX_LINES):
        if found := longer.search(line[:SEARCHED].decode("utf-8", "replace")):
            return {**who, "host": found[0]}
    return who

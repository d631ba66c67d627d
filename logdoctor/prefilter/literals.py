"""The literals of a form: a set of plain texts of which every match holds at least one.

Hyperscan finds thousands of plain texts at the speed of a few and compiles them in a twentieth of the time that their
patterns take (2,400 literals: 0.05 s to compile, 1.3 times as fast as the patterns; Vectorscan 5.4.12).  Lines that
merely share the text with a pattern cost a `second_look`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.prefilter.factor import COMMON
from logdoctor.prefilter.form import ESCAPED, Chars, Either, Loop, Nodes

ENOUGH = 2.5
"""Texts that tell less hit too often: then the form is searched as a pattern."""
SHORTEST = 3
LONGEST = 32
MOST = 200
CAPITALS = frozenset(
    "NCCL INFO NET IB GPU CUDA Channel Ring Trees Rank Epoch Loss Step Iteration Training Loading Saving Using Init "
    "Connected Bootstrap DEBUG Time Device".split()
)
"""Words with capitals that healthy logs are full of; other capitals (``ERROR``, ``Warning``) are rare in them."""
_PARTS = re.compile(r"[A-Za-z]+|[^A-Za-z]")


def literals(nodes: Nodes) -> frozenset[str]:
    """The set that tells most; empty where none tells enough."""
    best = max(_sets(nodes), key=_tells, default=frozenset())
    good = best and _tells(best) >= ENOUGH and len(best) <= MOST and min(map(len, best)) >= SHORTEST
    return best if good else frozenset()


def _sets(nodes: Nodes) -> Iterator[frozenset[str]]:
    """Each set of texts of which every match of ``nodes`` holds one."""
    run = ""
    for node in nodes:
        if isinstance(node, Chars) and not node.beyond and len(node.ascii) == 1 and not node.ascii & ESCAPED:
            run += chr(min(node.ascii))
            continue
        if run:
            yield frozenset({_shortened(run)})
        run = ""
        if isinstance(node, Loop) and node.least:
            yield from _sets(node.body)
        elif isinstance(node, Either):
            branches = [max(_sets(b), key=_tells, default=frozenset()) for b in node.branches]
            if all(branches):
                yield frozenset().union(*branches)
    if run:
        yield frozenset({_shortened(run)})


def _shortened(text: str) -> str:
    """The part of a long text that tells most."""
    if len(text) <= LONGEST:
        return text
    return max((text[i : i + LONGEST] for i in range(0, len(text) - LONGEST + 1, 4)), key=_tells_one)


def _tells(texts: frozenset[str]) -> float:
    return min(map(_tells_one, texts), default=0.0) - 0.01 * len(texts)


def _tells_one(text: str) -> float:
    """Letters count, those of common words do not; punctuation counts half, blanks a little, digits nothing."""
    return sum(_part(part) for part in _PARTS.findall(text))


def _part(part: str) -> float:
    if part.isalpha():
        return 0.0 if part in COMMON or part in CAPITALS else float(len(part))
    return 0.2 if part == " " else 0.0 if part.isdigit() else 0.5

"""The literals of a form: a set of plain texts of which every match holds at least one.

Hyperscan finds thousands of plain texts at the speed of a few and compiles them in a twentieth of the time that their
patterns take (2,400 literals: 0.05 s to compile, 1.3 times as fast as the patterns; Vectorscan 5.4.12).  Lines that
merely share the text with a pattern cost a `second_look`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.prefilter.factor import COMMON
from logdoctor.prefilter.form import ESCAPED, Chars, Either, Loop, Node, Nodes

ENOUGH = 1.3
"""Texts that tell less hit too often: then the form is searched as a pattern."""
SHORTEST = 3
LONGEST = 32
MOST = 200
GROWN = 16
PLENTY = 12.0
RARE = 8.0
FEW = 2
CAPITALS = frozenset(
    "NCCL INFO NET IB GPU CUDA Channel Ring Trees Rank Epoch Loss Step Iteration Training Loading Saving Using Init "
    "Connected Bootstrap DEBUG Time Device".split()
)
"""Words with capitals that healthy logs are full of; other capitals (``ERROR``, ``Warning``) are rare in them."""
_PARTS = re.compile(r"[A-Za-z]+|[^A-Za-z]")


def literals(nodes: Nodes) -> frozenset[str]:
    """The set that tells most; empty where none tells enough."""
    best = max(_sets(nodes), key=_tells, default=frozenset())
    good = best and min(map(worth_of_text, best)) >= ENOUGH and len(best) <= MOST and min(map(len, best)) >= SHORTEST
    return best if good else frozenset()


def are_rare(texts: frozenset[str]) -> bool:
    """Whether a line that holds one of ``texts`` is hardly ever meant otherwise."""
    return bool(texts) and min(map(worth_of_text, texts)) >= RARE


def _sets(nodes: Nodes) -> Iterator[frozenset[str]]:
    """Each set of texts of which every match of ``nodes`` holds one."""
    run = frozenset({""})
    for node in nodes:
        texts = _texts(node)
        grown = frozenset(a + b for a in run for b in texts)
        if texts and len(grown) <= GROWN:
            run = grown
            continue
        yield _shortened(run)
        run = texts or frozenset({""})
        if texts:
            continue
        if isinstance(node, Loop) and node.least:
            yield from _sets(node.body)
        elif isinstance(node, Either):
            branches = [max(_sets(b), key=_tells, default=frozenset()) for b in node.branches]
            if all(branches):
                yield frozenset().union(*branches)
    yield _shortened(run)


def _texts(node: Node) -> frozenset[str]:
    """All texts that a piece stands for; empty where they are too many or cannot be listed."""
    if isinstance(node, Chars):
        listed = not node.beyond and len(node.ascii) <= FEW and not node.ascii & ESCAPED
        return frozenset(map(chr, node.ascii)) if listed else frozenset()
    if isinstance(node, Loop):
        body = _all_texts(node.body) if (node.least, node.most) == (0, 1) else frozenset[str]()
        return body | {""} if body else frozenset()
    if isinstance(node, Either):
        branches = [_all_texts(b) for b in node.branches]
        return frozenset().union(*branches) if all(branches) else frozenset()
    return frozenset()


def _all_texts(nodes: Nodes) -> frozenset[str]:
    run = frozenset({""})
    for node in nodes:
        run = frozenset(a + b for a in run for b in _texts(node))
        if not run or len(run) > GROWN:
            return frozenset()
    return run


def _shortened(texts: frozenset[str]) -> frozenset[str]:
    """The part of long texts that tells most; nothing where one of them is empty."""
    return frozenset(map(_shortened_one, texts)) if all(texts) else frozenset()


def _shortened_one(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return max((text[i : i + LONGEST] for i in range(0, len(text) - LONGEST + 1, 4)), key=worth_of_text)


def _tells(texts: frozenset[str]) -> float:
    """What the weakest text tells; beyond `PLENTY` fewer texts are better than longer ones."""
    return min(PLENTY, *map(worth_of_text, texts)) - 0.15 * len(texts) if texts else -100.0


def worth_of_text(text: str) -> float:
    """Letters count, those of common words only in long texts; punctuation counts half, blanks a little."""
    return len(text) / 8 + sum(_part(part) for part in _PARTS.findall(text))


def _part(part: str) -> float:
    if part.isalpha():
        return 0.0 if part in COMMON or part in CAPITALS else float(len(part))
    return 0.0 if part == " " or part.isdigit() else 0.5

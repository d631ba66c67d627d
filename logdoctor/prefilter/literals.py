"""The literals of a form: a set of plain texts of which every match holds at least one.

Hyperscan finds thousands of plain texts at the speed of a few and compiles them in a twentieth of the time that their
patterns take.  Few and long ones are best (Vectorscan 5.4.12, one core: 2,000 of eight and more characters 1.8 GB/s,
4,500 of them 1.4 GB/s, with 290 shorter ones 0.9 GB/s).  Lines that merely share the text with a pattern cost a
`second_look`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from logdoctor.prefilter.factor import COMMON
from logdoctor.prefilter.form import ESCAPED, Chars, Either, Foreign, Loop, Node, Nodes

DEAREST = 20000.0
"""A set that costs more than this hits too often or is too large: then the form is searched as a pattern."""
LONGEST = 24
MOST = 160
GROWN = 64
FEW = 10
SHORT = {7: 2.0, 6: 6.0, 5: 60.0, 4: 4000.0, 3: 9000.0}
"""What a text of so few characters costs beside a long one, which costs 1 (measured)."""
FAILING = frozenset(
    "warn warning arning error errors rror failed failure ailed fail exception xception timeout imeout unable cannot "
    "could".split()
)
"""Words that failing logs are full of, healthy ones not."""
METRICS = frozenset(
    "async atch batch parallel world rate learning lr grad norm metrics eval val validation test samples tokens "
    "sequence tensor pipeline expert plugin version fatal magic nvml nccl hit cache".split()
)
"""Words of metrics, settings and progress."""
CAPITALS = frozenset(
    "NCCL INFO NET IB GPU CUDA Channel Ring Trees Rank Epoch Loss Step Iteration Training Loading Saving Using Init "
    "Connected Bootstrap DEBUG Time Device".split()
)
"""Words with capitals that healthy logs are full of; other capitals (``ERROR``, ``Warning``) are rare in them."""
TRIGGERS = (
    *"Error: ERROR: ERROR error: Exception FATAL CRITICAL PANIC EMERG SEVERE FAILED Warning: srun: slurmd".split(),
    *"slurmste Killed Aborted mpirun xpmem .cpp:".split(),
    *("NVRM: ", "Xid (", "EDAC ", "mlx4: ", "mlx5: "),
)
"""Short texts that are searched anyway: a text that would be dear by itself is found by the one that it holds."""
TRIGGER = 100.0
_PARTS = re.compile(r"[A-Za-z]+|[^A-Za-z]")

Texts = frozenset[str]


def literals(nodes: Nodes) -> Texts:
    """The cheapest set; empty where each is too dear."""
    best = min(_sets(nodes), key=_cost, default=frozenset())
    return frozenset(spelt for text in best for spelt in _spellings(text)) if _cost(best) <= DEAREST else frozenset()


def _spellings(text: str) -> tuple[str, ...]:
    """The text, and what stands for it in JSON that is ASCII only."""
    if text.isascii():
        return (text,)
    escaped = json.dumps(text)[1:-1]
    return text, escaped, re.sub(r"(?<=\\u)[0-9a-f]{4}", lambda hexadecimal: hexadecimal[0].upper(), escaped)


# ── which sets there are ────────────────────────────────────────────────────────────────────────────────────────────


def _sets(nodes: Nodes) -> Iterator[Texts]:
    """Each set of texts of which every match of ``nodes`` holds one, long texts cut to their best part."""
    run: list[Texts] = []
    for node in nodes:
        texts = _texts(node)
        if texts:
            run.append(texts)
            continue
        yield from _stretches([*run, _edge(node, first=True)])
        run = [_edge(node, first=False)]
        if isinstance(node, Loop) and node.least:
            yield from _sets(node.body)
        elif isinstance(node, Either):
            branches = [min(_sets(b), key=_cost, default=frozenset()) for b in node.branches]
            if all(branches):
                yield frozenset().union(*branches)
    yield from _stretches(run)


def _edge(node: Node, *, first: bool) -> Texts:
    """The texts with which a piece that cannot be listed whole begins (or ends)."""
    if isinstance(node, Loop) and node.least:
        body = _all_texts(node.body)
        if len(body) == 1:
            return frozenset(text * min(node.least, LONGEST) for text in body)
        return body if 0 < len(body) <= FEW and "" not in body else frozenset({""})
    if not isinstance(node, Either):
        return frozenset({""})
    texts = frozenset[str]().union(*(_edge_of(branch, first=first) for branch in node.branches))
    return texts if len(texts) <= GROWN else frozenset({""})


def _edge_of(nodes: Nodes, *, first: bool) -> Texts:
    run = frozenset({""})
    for node in nodes if first else nodes[::-1]:
        texts = _texts(node)
        grown = frozenset(a + b if first else b + a for a in run for b in texts)
        if not texts or len(grown) > GROWN:
            return run
        run = grown
    return run


def _stretches(run: Sequence[Texts]) -> Iterator[Texts]:
    """The products of neighbouring pieces, pieces of a single text taken together."""
    joined: list[Texts] = []
    for texts in run:
        if joined and len(texts) == len(joined[-1]) == 1:
            joined[-1] = frozenset({min(joined[-1]) + min(texts)})
        else:
            joined.append(texts)
    for start in range(len(joined)):
        for stop in range(start + 1, len(joined) + 1):
            if math.prod(map(len, joined[start:stop])) > GROWN and stop > start + 1:
                break
            found = frozenset(map("".join, product(*joined[start:stop])))
            if "" not in found and len(found) <= MOST:
                yield frozenset(map(_best_part, found))


def _texts(node: Node) -> Texts:
    """All texts that a piece stands for; empty where they are too many or cannot be listed."""
    if isinstance(node, Foreign):
        return frozenset({node.char})
    if isinstance(node, Chars):
        listed = not node.beyond and len(node.ascii) <= FEW and not node.ascii & ESCAPED
        return frozenset(map(chr, node.ascii)) if listed else frozenset()
    if isinstance(node, Loop):
        body = _all_texts(node.body) if node.most in (1, node.least) else Texts()
        if node.least == 0:
            return body | {""} if body else frozenset()
        return frozenset(text * node.least for text in body) if len(body) == 1 and node.least < 100 else frozenset()
    if isinstance(node, Either):
        branches = [_all_texts(b) for b in node.branches]
        return frozenset().union(*branches) if all(branches) else frozenset()
    return frozenset()


def _all_texts(nodes: Nodes) -> Texts:
    run = frozenset({""})
    for node in nodes:
        run = frozenset(a + b for a in run for b in _texts(node))
        if not run or len(run) > MOST:
            return frozenset()
    return run


@lru_cache(maxsize=1 << 16)
def _best_part(text: str) -> str:
    parts = (text[i : i + LONGEST] for i in range(max(1, len(text) - LONGEST + 1)))
    best = min(parts, key=cost_of_text)
    if cost_of_text(best) <= TRIGGER:
        return best
    return next((trigger for trigger in TRIGGERS if trigger in text), best)


# ── what they cost ──────────────────────────────────────────────────────────────────────────────────────────────────


def _cost(texts: Texts) -> float:
    return sum(map(cost_of_text, texts)) if texts and len(texts) <= MOST else math.inf


@lru_cache(maxsize=1 << 17)
def cost_of_text(text: str) -> float:
    """One for the search, more for a short text and for one that hits where nothing is meant."""
    if text in TRIGGERS:
        return TRIGGER
    size = len(text.encode())
    short = 0.0 if size > max(SHORT) else SHORT.get(size, math.inf)
    return 1.0 + short + 4000.0 * float(0.4 ** _worth(text)) - len(text) / 100


def _worth(text: str) -> float:
    """Letters count, those of common words only in long texts; punctuation counts half, blanks a little."""
    return len(text) / 8 + sum(map(_part, _PARTS.findall(text)))


def _part(part: str) -> float:
    if part.isascii() and part.isalpha():
        if part.lower() in FAILING:
            return 2.0 if part.islower() else 5.0
        return 0.0 if part in COMMON or part in CAPITALS or part.lower() in METRICS else float(len(part))
    return 3.0 if not part.isascii() else 0.0 if part == " " or part.isdigit() else 0.75

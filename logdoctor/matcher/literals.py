"""Literal texts of a form, at least one in every match.

Hyperscan finds thousands of plain texts at the speed of a few.
It compiles them in a twentieth of the time that their patterns take.
Few and long texts are best. Measured with Vectorscan 5.4.12 on one core:
2,000 texts of eight and more characters 1.8 GB/s, 4,500 such texts 1.4 GB/s, with 290 shorter texts 0.9 GB/s.
A line that shares only the text with a pattern costs a second look, at the pattern itself.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product, takewhile

from logdoctor.matcher.literal_runs import COMMON_WORDS
from logdoctor.matcher.pattern import Atom
from logdoctor.matcher.regex_ast import JSON_ESCAPED, Alternation, CharClass, EitherCase, Node, Nodes, NonAscii, Repeat

MAX_COST = 20000.0
"""A set with a higher cost matches too often or is too large. The form is then searched as a pattern."""
MAX_LENGTH = 24
MAX_TEXTS = 160
MAX_PRODUCT = 64
MAX_CHOICES = 10
SHORT_COSTS = {7: 2.0, 6: 6.0, 5: 60.0, 4: 4000.0, 3: 9000.0}
"""Cost of a text by its length, measured. A long text costs 1."""
FAILURE_WORDS = frozenset(
    "warn warning arning error errors rror failed failure ailed fail exception xception timeout imeout unable cannot "
    "could".split()
)
"""Words that are frequent in failing logs but not in healthy logs."""
METRIC_WORDS = frozenset(
    "async atch batch parallel world rate learning lr grad norm metrics train eval val validation test samples tokens "
    "sequence tensor pipeline expert plugin version fatal magic nvml nccl hit cache event parameter dataloader worker "
    "address interface context limit collective cluster debug level unknown result initialized".split()
)
"""Words of metrics, settings and progress."""
CASELESS_COST, SHORT_CASELESS = 0.1, 2.0
"""A text whose case is ignored costs so much more. A short one stands in many other lines, so its cost doubles."""
COMMON_CAPITALS = frozenset(
    "NCCL INFO NET IB GPU CUDA Channel Ring Trees Rank Epoch Loss Step Iteration Training Loading Saving Using Init "
    "Connected Bootstrap DEBUG Time Device Process".split()
)
"""Capitalised words that are frequent in healthy logs. Other capitals (``ERROR``, ``Warning``) are rare there."""
TRIGGERS = (
    *"Error: ERROR: ERROR error: Exception FATAL CRITICAL PANIC EMERG SEVERE FAILED Warning: srun: slurmd".split(),
    *"slurmste Killed Aborted mpirun xpmem .cpp:".split(),
    *("NVRM: ", "Xid (", "EDAC ", "mlx4: ", "mlx5: "),
)
"""Short texts that are searched anyway. An expensive text that contains a trigger is found by the trigger."""
TRIGGER_COST = 100.0
_PARTS = re.compile(r"[A-Za-z]+|[^A-Za-z]")

_EITHER_CASE = 0x100000
_UNMARKED = {_EITHER_CASE + code: code for code in range(128)}

Texts = frozenset[str]
"""Texts in which a letter of either case is marked: moved up by ``_EITHER_CASE``, into a private range of Unicode."""


def literals(nodes: Nodes) -> frozenset[Atom]:
    """Return the cheapest set of texts. The set is empty if every set is too expensive."""
    best = min(_sets(nodes), key=_set_cost, default=frozenset())
    return atoms_of(best) if _set_cost(best) <= MAX_COST else frozenset()


def atoms_of(texts: Iterable[str]) -> frozenset[Atom]:
    """Return the atoms of texts, each of them cut to its best part.

    A text that holds another one is left out, because its lines are found by the other.
    """
    parts = frozenset(map(_best_part, texts))
    needed = (text for text in parts if not any(part in text for part in parts if part != text))
    return frozenset(atom for text in needed for atom in _atoms(text))


def _atoms(text: str) -> Iterator[Atom]:
    """Yield the atoms of a text. One marked letter makes the whole text caseless."""
    unmarked = text.translate(_UNMARKED)
    for spelling in _spellings(unmarked):
        yield Atom(spelling) if unmarked == text else Atom(spelling.lower(), caseless=True)


def _spellings(text: str) -> tuple[str, ...]:
    r"""Return the text and its spellings in ASCII-only JSON, and in JSON within JSON.

    For example ``段`` gives ``段``, ``\u6bb5``, ``\u6BB5``, ``\\u6bb5`` and ``\\u6BB5``.
    """
    if text.isascii():
        return (text,)
    lower = json.dumps(text)[1:-1]
    upper = re.sub(r"(?<=\\u)[0-9a-f]{4}", lambda hexadecimal: hexadecimal[0].upper(), lower)
    return text, lower, upper, lower.replace("\\", "\\\\"), upper.replace("\\", "\\\\")


# ── candidate sets ──────────────────────────────────────────────────────────────────────────────────────────────────


def _sets(nodes: Nodes) -> Iterator[Texts]:
    """Yield sets of texts, at least one of them in every match. Long texts are cut to their best part."""
    run: list[Texts] = []
    for index, node in enumerate(nodes):
        texts = _node_texts(node)
        if isinstance(node, Alternation) and (not texts or len(texts) > len(node.branches)):
            yield _branch_texts(node, _plain(nodes[:index][::-1])[::-1], _plain(nodes[index + 1 :]))
        if texts:
            run.append(texts)
            continue
        yield from _products([*run, _edge_texts(node, first=True)])
        run = [_edge_texts(node, first=False)]
        if isinstance(node, Repeat) and node.minimum:
            yield from _sets(node.body)
    yield from _products(run)


def _branch_texts(node: Alternation, before: Nodes, after: Nodes) -> Texts:
    """Return the cheapest sets of all branches, each with the characters beside the node."""
    branches = [min(_sets((*before, *b, *after)), key=_set_cost, default=frozenset()) for b in node.branches]
    return frozenset().union(*branches) if all(branches) else frozenset()


def _plain(nodes: Nodes) -> Nodes:
    """Return the characters with which ``nodes`` begin."""
    return tuple(takewhile(lambda node: len(_node_texts(node)) == 1 and not isinstance(node, Alternation), nodes))


def _edge_texts(node: Node, *, first: bool) -> Texts:
    """Return the texts that a node begins with (``first``), or ends with.

    Used for a node whose texts are too many to list.
    """
    if isinstance(node, Repeat) and node.minimum:
        body = _nodes_texts(node.body)
        if len(body) == 1:
            return frozenset(text * min(node.minimum, MAX_LENGTH) for text in body)
        return body if 0 < len(body) <= MAX_CHOICES and "" not in body else frozenset({""})
    if not isinstance(node, Alternation):
        return frozenset({""})
    texts = frozenset[str]().union(*(_edge_texts_of_nodes(branch, first=first) for branch in node.branches))
    return texts if len(texts) <= MAX_PRODUCT else frozenset({""})


def _edge_texts_of_nodes(nodes: Nodes, *, first: bool) -> Texts:
    run = frozenset({""})
    for node in nodes if first else nodes[::-1]:
        texts = _node_texts(node)
        product_texts = frozenset(a + b if first else b + a for a in run for b in texts)
        if not texts or len(product_texts) > MAX_PRODUCT:
            return run
        run = product_texts
    return run


def _products(run: Sequence[Texts]) -> Iterator[Texts]:
    """Yield the products of neighbouring sets of texts.

    For example the sets "rank" and " lost", " gone" give the product "rank lost", "rank gone".
    """
    joined: list[Texts] = []
    for texts in run:
        if joined and len(texts) == len(joined[-1]) == 1:
            joined[-1] = frozenset({min(joined[-1]) + min(texts)})
        else:
            joined.append(texts)
    for start in range(len(joined)):
        for stop in range(start + 1, len(joined) + 1):
            if math.prod(map(len, joined[start:stop])) > MAX_PRODUCT and stop > start + 1:
                break
            combined = frozenset(map("".join, product(*joined[start:stop])))
            if "" not in combined and len(combined) <= MAX_TEXTS:
                yield frozenset(map(_best_part, combined))


def _node_texts(node: Node) -> Texts:
    """Return all texts that a node stands for. The result is empty if they are too many."""
    if isinstance(node, CharClass):
        return frozenset() if node.non_ascii else _members(node.ascii)
    if isinstance(node, NonAscii):
        return frozenset({node.char})
    if isinstance(node, EitherCase):
        return frozenset({chr(_EITHER_CASE + ord(node.letter))})
    if isinstance(node, Repeat):
        body = _nodes_texts(node.body) if node.maximum in (1, node.minimum) else Texts()
        if node.minimum == 0:
            return body | {""} if body else frozenset()
        return frozenset(text * node.minimum for text in body) if len(body) == 1 and node.minimum < 100 else frozenset()
    if isinstance(node, Alternation):
        branches = [_nodes_texts(b) for b in node.branches]
        return frozenset().union(*branches) if all(branches) else frozenset()
    return frozenset()


@lru_cache(maxsize=1 << 12)
def _members(codes: frozenset[int]) -> Texts:
    """Return the characters of a class, if they are few and JSON does not escape them."""
    return Texts() if len(codes) > MAX_CHOICES or codes & JSON_ESCAPED else frozenset(map(chr, codes))


def _nodes_texts(nodes: Nodes) -> Texts:
    run = frozenset({""})
    for node in nodes:
        texts = _node_texts(node)
        run = frozenset([a + b for a in run for b in texts])
        if not run or len(run) > MAX_TEXTS:
            return frozenset()
    return run


@lru_cache(maxsize=1 << 16)
def _best_part(text: str) -> str:
    parts = (text[i : i + MAX_LENGTH] for i in range(max(1, len(text) - MAX_LENGTH + 1)))
    best = min(parts, key=text_cost)
    if text_cost(best) <= TRIGGER_COST:
        return best
    return next((trigger for trigger in TRIGGERS if trigger in text), best)


# ── cost ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _set_cost(texts: Texts) -> float:
    return sum(map(text_cost, texts)) if texts and len(texts) <= MAX_TEXTS else math.inf


@lru_cache(maxsize=1 << 17)
def text_cost(text: str) -> float:
    """Return the search cost of a text. Short texts and texts that are common in logs cost more."""
    unmarked = text.translate(_UNMARKED)
    if unmarked != text:
        factor = SHORT_CASELESS if len(unmarked) <= 5 else 1.0
        return CASELESS_COST + factor * text_cost(unmarked.lower())
    if text in TRIGGERS:
        return TRIGGER_COST
    size = len(text.encode())
    short_cost = 0.0 if size > max(SHORT_COSTS) else SHORT_COSTS.get(size, math.inf)
    return 1.0 + short_cost + 4000.0 * float(0.4 ** _specificity(text)) - len(text) / 100


def _specificity(text: str) -> float:
    """Return a score: letters count, punctuation counts half, blanks a little.

    Letters of common words count only through the length of the text.
    """
    return len(text) / 8 + sum(map(_part_score, _PARTS.findall(text)))


@lru_cache(maxsize=1 << 15)
def _part_score(part: str) -> float:
    if part.isascii() and part.isalpha():
        if part.lower() in FAILURE_WORDS:
            return 2.0 if part.islower() else 5.0
        return (
            0.0 if part in COMMON_WORDS or part in COMMON_CAPITALS or part.lower() in METRIC_WORDS else float(len(part))
        )
    return 3.0 if not part.isascii() else 0.0 if part == " " or part.isdigit() else 0.75

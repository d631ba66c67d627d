r"""The most telling run of a form: one stretch without gaps that every match must hold.

Hyperscan finds hundreds of gap-free stretches at a gigabyte a second, but every ``.*`` or ``\w+`` between them keeps a
state machine alive on each line that has the first half: 113 such forms among 700 made the scan 20 times slower
(measured with Vectorscan 5.4.12).  A wider form costs little: the parser's own pattern has the last word on the line.
"""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.prefilter.form import Chars, Either, Foreign, Loop, Node, Nodes, trim

ENOUGH = 2.0
"""A run that is worth less would hit everywhere; then the whole form is taken."""
SHORT_REPEAT = 2
LONG = 8.0
COMMON = frozenset(
    "nccl info ncclinfo warn warning error errors rror failed failure fail ailed exception xception timeout imeout "
    "returned "
    "loss epoch poch iteration step tep processgroup socket comm init rank unable could cannot with from the file line "
    "ank checkpoint heckpoint python ython saving aving loading oading epochs steps training raining model "
    "net ib via channel async ring tree send recv gdrdma mlx "
    "gpu alloc allocate allocated load nan oss open receive memory cuda dev support thread connect onnect number of "
    "arning finished start stop end size time use using set get no yes true false device devices data "
    "for not and was has been code job task node process worker pid host".split()
)
"""Words that healthy logs are full of: they tell nothing."""


def telling(nodes: Nodes) -> Nodes:
    """The run of ``nodes`` that is worth most; ``nodes`` themselves where no run is worth enough."""
    best = max(_runs(nodes), key=worth, default=())
    return best if worth(best) >= ENOUGH else nodes


def _runs(nodes: Nodes) -> Iterator[Nodes]:
    """The stretches between gaps, trimmed at their edges."""
    run: list[Node] = []
    for node in nodes:
        if _narrow(node):
            run.append(node)
            continue
        yield trim(tuple(run))
        run.clear()
        if isinstance(node, Loop) and node.least:
            yield from _runs(node.body)
        elif isinstance(node, Either):
            branches = tuple(dict.fromkeys(max(_runs(b), key=worth, default=()) for b in node.branches))
            if () not in branches:
                yield branches[0] if len(branches) == 1 else (Either(branches),)
    yield trim(tuple(run))


def _narrow(node: Node) -> bool:
    if isinstance(node, Loop):
        return node.most is not None and node.most <= SHORT_REPEAT and all(_narrow(n) for n in node.body)
    return not isinstance(node, Either) or all(_narrow(n) for branch in node.branches for n in branch)


def worth(nodes: Nodes) -> float:
    """How much a run tells: its literal characters, common words not counted, punctuation half."""
    total, word = 0.0, ""
    for node in nodes:
        letter = _letter(node)
        if letter:
            word += letter
            continue
        total, word = total + _worth_of_word(word), ""
        total += _worth_of_node(node)
    return total + _worth_of_word(word)


def _letter(node: Node) -> str:
    """The letter (in lower case) that the node stands for, if it is one."""
    if not isinstance(node, Chars) or node.beyond or not 1 <= len(node.ascii) <= 2:
        return ""
    letter = chr(max(node.ascii)).lower()
    return letter if letter.isalpha() and {chr(c).lower() for c in node.ascii} == {letter} else ""


def _worth_of_word(word: str) -> float:
    return 0.0 if word in COMMON else float(len(word))


def _worth_of_node(node: Node) -> float:
    if isinstance(node, Foreign):
        return 2.0
    if isinstance(node, Either):
        least = min(worth(branch) for branch in node.branches)
        return least if least >= LONG else least / 2  # many short words hit often
    if isinstance(node, Loop):
        return worth(node.body) if node.least else 0.0
    if node.broad or min(node.ascii, default=0) <= 0x20:
        return 0.0
    return 0.5 if len(node.ascii) <= 2 and not chr(min(node.ascii)).isalnum() else 0.1

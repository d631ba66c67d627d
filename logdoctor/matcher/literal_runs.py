r"""Selection of the most specific literal run of a scan form.

A run is a stretch without gaps that every match must contain. For example, of ``rank \d+ lost .*heartbeat`` the run
``heartbeat`` is selected.

Hyperscan finds hundreds of runs at a gigabyte a second.
A ``.*`` or ``\w+`` between runs keeps a state machine alive on each line that has the first half.
With 113 such forms among 700 the scan was 20 times slower (measured with Vectorscan 5.4.12).
A wider form costs little, because the format's own pattern decides on each picked line.
"""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.matcher.regex_ast import Alternation, CharClass, EitherCase, Node, Nodes, NonAscii, Repeat, trim

MIN_SCORE = 2.0
"""A run with a lower score would match everywhere, so the whole form is used instead."""
MAX_REPEAT = 2
LONG_SCORE = 8.0
COMMON_WORDS = frozenset(
    "nccl info ncclinfo warn warning error errors rror failed failure fail ailed exception xception timeout imeout "
    "returned "
    "loss epoch poch iter iteration step tep processgroup socket comm init rank unable could cannot with from the file "
    "line ank checkpoint heckpoint python ython saving aving loading oading epochs steps training raining model "
    "net ib via channel async ring tree send recv gdrdma mlx "
    "gpu alloc allocate allocated load nan oss open receive memory cuda dev support thread connect onnect number of "
    "arning finished start stop end size time use using set get no yes true false device devices data "
    "for not and was has been code job task node process worker pid host".split()
)
"""Words that are frequent in healthy logs, so they score nothing."""


def select_run(nodes: Nodes) -> Nodes:
    """Return the run of ``nodes`` with the highest score, or all ``nodes``.

    All nodes are returned if no run scores at least `MIN_SCORE`.
    """
    best = max(_runs(nodes), key=score, default=())
    return best if score(best) >= MIN_SCORE else nodes


def _runs(nodes: Nodes) -> Iterator[Nodes]:
    """Yield the stretches between gaps, with trimmed edges."""
    run: list[Node] = []
    for node in nodes:
        if _is_gap_free(node):
            run.append(node)
            continue
        yield trim(tuple(run))
        run.clear()
        if isinstance(node, Repeat) and node.minimum:
            yield from _runs(node.body)
        elif isinstance(node, Alternation):
            branches = tuple(dict.fromkeys(max(_runs(b), key=score, default=()) for b in node.branches))
            if () not in branches:
                yield branches[0] if len(branches) == 1 else (Alternation(branches),)
    yield trim(tuple(run))


def _is_gap_free(node: Node) -> bool:
    if isinstance(node, Repeat):
        return node.maximum is not None and node.maximum <= MAX_REPEAT and all(_is_gap_free(n) for n in node.body)
    return not isinstance(node, Alternation) or all(_is_gap_free(n) for branch in node.branches for n in branch)


def score(nodes: Nodes) -> float:
    """Return a run's score: literal characters without common words, punctuation half."""
    total, word = 0.0, ""
    for node in nodes:
        letter = _node_letter(node)
        if letter:
            word += letter
            continue
        total, word = total + _word_score(word), ""
        total += _node_score(node)
    return total + _word_score(word)


def _node_letter(node: Node) -> str:
    """Return the lower-case letter that the node stands for, else ``""``."""
    if isinstance(node, EitherCase):
        return node.letter
    if not isinstance(node, CharClass) or node.non_ascii or not 1 <= len(node.ascii) <= 2:
        return ""
    letter = chr(max(node.ascii)).lower()
    return letter if letter.isalpha() and {chr(c).lower() for c in node.ascii} == {letter} else ""


def _word_score(word: str) -> float:
    return 0.0 if word in COMMON_WORDS else float(len(word))


def _node_score(node: Node) -> float:
    if isinstance(node, NonAscii):
        return 2.0
    if isinstance(node, EitherCase):
        return 1.0
    if isinstance(node, Alternation):
        lowest = min(score(branch) for branch in node.branches)
        return lowest if lowest >= LONG_SCORE else lowest / 2  # many short words hit often
    if isinstance(node, Repeat):
        return score(node.body) if node.minimum else 0.0
    if node.is_broad or min(node.ascii, default=0) <= 0x20:
        return 0.0
    return 0.5 if len(node.ascii) <= 2 and not chr(min(node.ascii)).isalnum() else 0.1

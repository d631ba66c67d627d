"""Question over two lists of versions: the first thing that has two versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Said
from logdoctor.pack.regexes import later

_HEADING = later(r":\s*$")
_PAIR = later(r"^\s{2,12}(?P<key>[A-Za-z][\w./-]{0,40}(?: [\w./-]{1,20}){0,2}): {1,8}(?P<value>\S[^\n]{0,200})$")
_VERSION = later(r"v?\d+(?:\.\d+)+\S{0,20}$")
BELOW = 16
"""Lines of the process below the block that are read."""
FEWEST = 2
"""Pairs of a list. One line with a colon may be anything."""


@asks
def unequal_sides(scene: Scene) -> Iterator[Answer]:
    """Tell the thing whose version differs between two lists in or below the block, each below a heading.

    Kind ``sides`` (thing, first, second).
    """
    lists = [*_lists((*scene.block, *islice(scene.below(), BELOW))), {}, {}]
    first, second = lists[:2]
    if min(len(first), len(second)) < FEWEST or first.keys() != second.keys():
        return
    differing = ((key, said, second[key][0]) for key, (said, _) in first.items() if said != second[key][0])
    if found := next((d for d in differing if all(map(_VERSION.match, d[1:]))), None):
        thing, one, other = found
        fields = {"thing": thing, "first": one, "second": other}
        lines = (first[thing][1].line, second[thing][1].line)
        yield Answer("sides", scene.quoted, fields, lines, shared=True)


def _lists(lines: Iterable[Said]) -> Iterator[dict[str, tuple[str, Said]]]:
    """Yield the values of each list by their keys, each with its line."""
    pairs: dict[str, tuple[str, Said]] = {}
    below_heading = False
    for said in lines:
        if below_heading and (match := _PAIR.match(said.text)):
            pairs[match["key"]] = (match["value"].strip(), said)
            continue
        if pairs:
            yield pairs
        pairs, below_heading = {}, _HEADING.search(said.text) is not None
    if pairs:
        yield pairs

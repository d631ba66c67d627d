"""Question over the keys that a checkpoint lacks and those that only it holds: one name differs in all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Said, Value
from logdoctor.pack.regexes import later

AROUND = 4
"""Lines above and below the block that are read."""
MOST_KEYS = 400
FEWEST, SHARE = 2, 0.75
"""Keys of the model that the new name must explain: so many, and this share of all that are missing."""
_LISTS = {
    "missing": later(r"Missing key\(s\) in state_dict: (?P<keys>\"[^\n]+)"),
    "unexpected": later(r"Unexpected key\(s\) in state_dict: (?P<keys>\"[^\n]+)"),
}
_KEY = later(r"\"([\w.\[\]'-]{1,200})\"")


@asks
def renamed_keys(scene: Scene) -> Iterator[Answer]:
    """Tell the one name by which the keys of a checkpoint differ from those of the model.

    Kind ``renamed`` (model_name, file_name, count, all).
    """
    if "state_dict" not in "".join(said.text for said in scene.block):
        return
    lines = [*scene.block, *islice(scene.below(), AROUND), *islice(scene.above(), AROUND)]
    missing, unexpected = (_keys(lines, name) for name in _LISTS)
    for key in unexpected:
        for pair in _pairs(missing[0], key) if missing else ():
            count = sum(_renamed(name, *pair) in unexpected for name in missing)
            if count >= max(FEWEST, SHARE * len(missing)):
                fields: dict[str, Value] = {
                    "model_name": pair[0],
                    "file_name": pair[1],
                    "count": count,
                    "all": len(missing),
                }
                yield Answer("renamed", scene.quoted, fields, silent=True)
                return


def _keys(lines: Sequence[Said], name: str) -> Sequence[str]:
    found = next((match for said in lines if (match := _LISTS[name].search(said.text))), None)
    return [*dict.fromkeys(islice((m[1] for m in _KEY.finditer(found["keys"])), MOST_KEYS))] if found else []


def _pairs(wanted: str, found: str) -> Iterator[tuple[str, str]]:
    """Yield the parts in which two keys differ, cut at dots, if anything else is left of them."""
    first, second = wanted.split("."), found.split(".")
    shortest = min(len(first), len(second))
    begin = next((n for n in range(shortest) if first[n] != second[n]), shortest)
    most = shortest - begin
    end = next((n for n in range(most) if first[-1 - n] != second[-1 - n]), most)
    one, other = first[begin : len(first) - end], second[begin : len(second) - end]
    if one and other and end:
        yield ".".join(one), ".".join(other)


def _renamed(key: str, name: str, new: str) -> str:
    return f".{key}.".replace(f".{name}.", f".{new}.", 1)[1:-1]

"""What is known of the job, as pairs of a name and a value."""

from __future__ import annotations

from collections.abc import Iterable

from logdoctor.model import JobPicture
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.entity_names import ranges, ranks_counted, ranks_in_words

_MOST_HOSTS, _MOST_GROUPS = 24, 6


def facts(picture: JobPicture, words: Catalogue) -> tuple[tuple[str, str], ...]:
    """Give the pairs of which something is known."""
    apart = words("joint").join(
        words("versions.apart", product=product, version=version, who=ranks_in_words(ranks, words))
        for product, version, ranks in picture.versions_apart
    )
    split = {product for product, _, _ in picture.versions_apart}
    found = (
        ("fact.ranks", ranks_counted(picture, words)),
        ("fact.hosts", _some(picture.hosts, _MOST_HOSTS, words)),
        ("fact.layout", _layout(picture, words)),
        ("fact.launcher", picture.launcher or ""),
        ("fact.versions", ", ".join(f"{p} {v}" for p, v in picture.versions if p not in split)),
        ("fact.apart", apart),
        ("fact.groups", _groups(picture, words)),
        ("fact.attempts", words.count("attempt", picture.attempts)),
        ("fact.end", words("cut") if picture.truncated else ""),
    )
    return tuple((words(key), value) for key, value in found if value)


def _layout(picture: JobPicture, words: Catalogue) -> str:
    if not picture.nodes and not picture.ranks_per_node:
        return ""
    return words("layout", nodes=picture.nodes or "?", each=picture.ranks_per_node or "?")


def _groups(picture: JobPicture, words: Catalogue) -> str:
    said = [
        words("fact.group", name=one.name, size=one.size or len(one.ranks), ranks=ranges(one.ranks, 3))
        for one in picture.groups
    ]
    return _some(said, _MOST_GROUPS, words)


def _some(names: Iterable[str], most: int, words: Catalogue) -> str:
    every = tuple(names)
    told = words("joint").join(every[:most])
    return told if len(every) <= most else f"{told}{words('joint')}{words('more', n=f'{len(every) - most:,}')}"

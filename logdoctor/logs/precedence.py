"""Order in which record patterns are tried on a line: the first that matches makes the record.

- The records of a file are tried from the first to the last, the files in the order of their names.
- Records that are ``general`` are tried after all others, and those that are ``last`` after the general ones.
- A record with ``before`` moves up, with the records above it in its file, until it stands above all that it names.
  It moves inside its group: those that are general, last, or neither.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

from logdoctor.logs.record_pattern import RecordPattern
from logdoctor.model import RuleError

Place: TypeAlias = tuple[int, int, int]
"""Place of a record: its group, the number of its file, its number in the file.  Sorts as without ``before``."""


class Before(Struct, frozen=True):
    """One name of a ``before``: a kind, or a whole format.  ``record`` is the number of the record in its file."""

    record: int
    name: str
    where: str


class Records(Struct, frozen=True):
    """The records of one format file, and their ``before``."""

    patterns: Sequence[RecordPattern]
    befores: Sequence[Before] = ()


class _Link(Struct, frozen=True):
    """One ``before`` with the places of its record and of the records that it names."""

    before: Before
    place: Place
    targets: tuple[Place, ...]


class CycleError(Exception):
    """Each record of a circle must be tried before the next.  ``links`` are the ``before`` in it."""

    def __init__(self, links: Sequence[_Link]) -> None:
        super().__init__()
        self.links = links


def in_order(files: Sequence[Records]) -> tuple[RecordPattern, ...]:
    """Return the record patterns of files without faults, in the order in which they are tried."""
    return tuple(files[file].patterns[number] for _, file, number in _sort(_places(files), _links(files)))


def faults_of_order(files: Sequence[Records], *, check: bool = False) -> list[RuleError]:
    """Return the faults of all ``before``: unknown names and circles.

    ``check`` also finds those that are needless, because the record wins without them.  It sorts once for each, and
    only if there is no circle.
    """
    places = _places(files)
    links = _links(files)
    errors = [error for link in links if (error := _fault_of_name(link, files))]
    links = [link for link in links if link.targets]
    circles = list[Sequence[_Link]]()
    while circle := _find_circle(places, links):
        circles.append(circle)
        links = [link for link in links if link is not circle[0]]
    needless = [link for link in links if check and not circles and _is_needless(link, places, links)]
    return [
        *errors,
        *(_fault_of_circle(circle, files) for circle in circles),
        *(_needless(link.before) for link in needless),
    ]


def _places(files: Sequence[Records]) -> list[Place]:
    return sorted(
        (_group(pattern), file, number)
        for file, records in enumerate(files)
        for number, pattern in enumerate(records.patterns)
    )


def _group(pattern: RecordPattern) -> int:
    return 2 if pattern.last else 1 if pattern.general else 0


def _links(files: Sequence[Records]) -> list[_Link]:
    """Find the records that each ``before`` names: those of other files, in the group of its record."""
    by_name = defaultdict[str, list[Place]](list)
    for group, file, number in _places(files):
        pattern = files[file].patterns[number]
        by_name[pattern.kind].append((group, file, number))
        by_name[pattern.format].append((group, file, number))
    links = list[_Link]()
    for file, records in enumerate(files):
        for before in records.befores:
            group = _group(records.patterns[before.record])
            targets = tuple(place for place in by_name[before.name] if place[0] == group and place[1] != file)
            links.append(_Link(before, (group, file, before.record), targets))
    return links


def _sort(places: Iterable[Place], links: Iterable[_Link]) -> list[Place]:
    """Sort the places so that each stands below those that must be tried before it.  Raise `CycleError`."""
    above = defaultdict[Place, dict[Place, _Link | None]](dict)
    for upper, lower in pairwise(sorted(places)):
        if upper[:2] == lower[:2]:
            above[lower][upper] = None
    for link in links:
        for target in link.targets:
            above[target].setdefault(link.place, link)
    found = dict[Place, None]()
    for place in sorted(places):
        _add(place, above, found)
    return [*found]


def _add(place: Place, above: dict[Place, dict[Place, _Link | None]], found: dict[Place, None]) -> None:
    """Add a place to ``found``, after all places that must stand above it."""
    path = [place]
    while path:
        waiting = min((upper for upper in above.get(path[-1], ()) if upper not in found), default=None)
        if waiting is None:
            found[path.pop()] = None
        elif waiting in path:
            circle = [*path[path.index(waiting) :], waiting]
            raise CycleError([link for lower, upper in pairwise(circle) if (link := above[lower][upper])])
        else:
            path.append(waiting)


def _find_circle(places: Sequence[Place], links: Sequence[_Link]) -> Sequence[_Link]:
    """Return the ``before`` of a circle, or nothing."""
    try:
        _sort(places, links)
    except CycleError as cycle:
        return cycle.links
    return ()


def _is_needless(link: _Link, places: Sequence[Place], links: Sequence[_Link]) -> bool:
    """Return True if the record would stand above all that it names without this link too."""
    order = _sort(places, [other for other in links if other is not link])
    own = order.index(link.place)
    return own < min(map(order.index, link.targets))


# ── faults ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fault_of_name(link: _Link, files: Sequence[Records]) -> RuleError | None:
    """Return the fault of a name that no other record of the same group has."""
    if link.targets:
        return None
    name, (group, own, _) = link.before.name, link.place
    named = [
        (_group(pattern), file)
        for file, records in enumerate(files)
        for pattern in records.patterns
        if name in (pattern.kind, pattern.format)
    ]
    groups = {other for other, file in named if file != own}
    if not named:
        what, advice = f"no record has the kind or the format '{name}'", "write the kind as in its record"
    elif not groups:
        what, advice = f"all records of '{name}' stand in this file", "the first in the file wins: move the record up"
    elif max(groups) > group:
        return _needless(link.before)
    else:
        what, advice = f"'{name}' is tried before this record", "remove `before`, or `general` or `last` of this record"
    return RuleError(what, link.before.where, "", advice)


def _fault_of_circle(links: Sequence[_Link], files: Sequence[Records]) -> RuleError:
    kinds = [files[link.place[1]].patterns[link.place[2]].kind for link in links]
    circle = ", ".join(f"{kind} before {link.before.name}" for kind, link in zip(kinds, links, strict=True))
    return RuleError(
        f"'before: {links[0].before.name}' closes a circle",
        links[0].before.where,
        f"{circle}; a record takes the records above it along",
        "remove one of them, or name kinds instead of a format",
    )


def _needless(before: Before) -> RuleError:
    return RuleError(f"'before: {before.name}' is needless", before.where, "the record wins without it", "remove it")

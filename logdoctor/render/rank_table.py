"""The rank table for people: ranks that fared alike are one line, so that 1,024 of them can be read.

"ranks 0-511,513-1023 on 127 hosts: collective.timeout in ALLREDUCE 4211; rank 512 on node-64 never started it".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from logdoctor.model import Evidence, RankRow
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.columns import shorten
from logdoctor.render.entity_names import hosts_in_words, ranges

ROLES = {
    "culprit": "role.culprit",
    "failed": "role.failed",
    "victim": "role.victim",
    "silent": "role.silent",
    "missing": "role.missing",
    "bystander": "role.bystander",
}
"""The order of the lines, and the words for each role."""
Feature = Callable[[RankRow], str]
_MOST_LINES, _MOST_RANGES, _LONGEST = 12, 4, 90


class RankLine(Struct, frozen=True):
    """Ranks that fared alike: who, their part, where they run, how far they got, what failed first, and the place."""

    ranks: str
    role: str
    where: str
    progress: str
    failure: str
    place: str


def rank_lines(rows: Sequence[RankRow], words: Catalogue, file: str = "") -> tuple[RankLine, ...]:
    """Give the lines of the table, the culprits first; no more than a dozen, in ever coarser groups.

    Where all ranks fared alike there is no table.  The name of ``file`` is left out of places.
    """
    groups = alike(rows, _MOST_LINES, _FINENESS[1:])
    return tuple(rank_line(group, words, file) for group in groups) if len(groups) > 1 else ()


def alike(
    rows: Sequence[RankRow], most: int, fineness: Sequence[Sequence[Feature]] | None = None
) -> list[list[RankRow]]:
    """Give the rows in groups that fared alike, the culprits first: the finest groups of which there are ``most``."""
    groups: list[list[RankRow]] = []
    for features in (fineness or _FINENESS) if rows else ():
        groups = _grouped(rows, features)
        if len(groups) <= most:
            break
    return groups


def _grouped(rows: Sequence[RankRow], features: Sequence[Feature]) -> list[list[RankRow]]:
    """Rows that are alike in all features; one that lacks a feature is like the others where those agree in it."""
    order = {role: place for place, role in enumerate(ROLES)}
    groups = [sorted(rows, key=lambda row: row.rank)]
    for feature in features:
        groups = [part for group in groups for part in _split(group, feature)]
    return sorted(groups, key=lambda group: (order[group[0].role], group[0].rank))


def _split(group: Sequence[RankRow], feature: Feature) -> list[list[RankRow]]:
    parts: dict[str, list[RankRow]] = {}
    for row in group:
        parts.setdefault(feature(row), []).append(row)
    return [[*group]] if len(parts.keys() - {""}) < 2 else list(parts.values())


def _role(row: RankRow) -> str:
    return row.role


def _which(row: RankRow) -> str:
    return str(row.rank)


def _what_failed(row: RankRow) -> str:
    """The signature, else the form of the line."""
    line = row.first_failure.line.text if row.first_failure else ""
    return row.failure or re.sub(r"\d+", "#", line.strip())[:_LONGEST] or "-"


def _in_what(row: RankRow) -> str:
    return row.waits_for or row.never_started or row.busy_with


def _how_far(row: RankRow) -> str:
    return row.last_progress


_FINENESS: tuple[tuple[Feature, ...], ...] = (
    (_role, _which),
    (_role, _what_failed, _in_what, _how_far),
    (_role, _what_failed, _in_what),
    (_role, _what_failed),
    (_role,),
)


def rank_line(group: Sequence[RankRow], words: Catalogue, file: str = "") -> RankLine:
    """Give the line for ranks that fared alike."""
    first = min((row for row in group if row.first_failure), key=lambda row: row.rank, default=None)
    seen = first.first_failure if first else None
    return RankLine(
        ranks=_who([row.rank for row in group], words),
        role=words(ROLES[group[0].role]),
        where=_where(group, words),
        progress=_span([row.last_progress for row in group if row.last_progress]),
        failure=_most([_failure(row, words) for row in group], words),
        place=_place(seen, file) + (" …" if len(group) > 1 else "") if seen else "",
    )


def _place(seen: Evidence, file: str) -> str:
    return f"{seen.line.file if seen.line.file != file else ''}:{seen.line.number}"


def _who(ranks: Sequence[int], words: Catalogue) -> str:
    runs = ranges(ranks, _MOST_RANGES)
    if "…" in runs:
        return words("ranks.many", n=f"{len(ranks):,}", ranks=runs)
    return words("rank.1" if len(ranks) == 1 else "rank.n", ranks=runs)


def _where(group: Sequence[RankRow], words: Catalogue) -> str:
    hosts = hosts_in_words(list(dict.fromkeys(row.host for row in group if row.host)), words)
    row = group[0]
    if len(group) > 1 or (row.gpu is None and row.bus_id is None):
        return hosts
    gpu = " ".join(filter(None, (str(row.gpu) if row.gpu is not None else "", row.bus_id or "")))
    return words("joint").join(filter(None, (hosts, words("gpu", names=gpu))))


def _failure(row: RankRow, words: Catalogue) -> str:
    if row.never_started:
        return words("never.started", what=row.never_started)
    if row.busy_with:
        return words("busy.with", what=row.busy_with)
    if row.failure and row.waits_for:
        return words("waits.in", failure=row.failure, what=row.waits_for)
    if row.failure or row.first_failure is None:
        return row.failure
    return shorten(row.first_failure.line.text.strip(), _LONGEST)


def _most(texts: Iterable[str], words: Catalogue) -> str:
    """The commonest of different texts, and how many more there are; what only begins another one is the same."""
    counts = Counter(text for text in texts if text)
    found = [t for t, _ in counts.most_common() if not any(o != t and o.startswith(t) for o in counts)]
    if not found:
        return ""
    return found[0] + (f" {words('more', n=f'{len(found) - 1:,}')}" if len(found) > 1 else "")


def _span(texts: Sequence[str]) -> str:
    """The lowest and the highest of counts like ``step 41/900``."""
    found = sorted(set(texts), key=lambda text: ([int(n[:18]) for n in re.findall(r"\d+", text)], text))
    return " … ".join(dict.fromkeys((found[0], found[-1]))) if found else ""

"""The rank table of a report.

Ranks with the same fate share a line, so that a table of 1,024 ranks stays readable. For example, the ranks
``0-511,513-1023`` have the line "collective.timeout in ALLREDUCE 4211", and rank 512 "never started ALLREDUCE 4211".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from logdoctor.model import Evidence, RankRow
from logdoctor.model.numbers import numbers_in
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.columns import shorten
from logdoctor.render.entity_names import host_names, ranges

ROLES = {
    "culprit": "role.culprit",
    "failed": "role.failed",
    "victim": "role.victim",
    "silent": "role.silent",
    "missing": "role.missing",
    "bystander": "role.bystander",
}
"""Message keys of the roles, in the order of the lines."""
Feature = Callable[[RankRow], str]
_MOST_LINES, _MOST_RANGES, _LONGEST = 12, 4, 90


class RankLine(Struct, frozen=True):
    """Texts for ranks with the same fate. ``location`` is the line of their first failure."""

    ranks: str
    role: str
    host: str
    progress: str
    failure: str
    location: str


def rank_lines(rows: Sequence[RankRow], words: Catalogue, file: str = "") -> tuple[RankLine, ...]:
    """Return at most 12 lines of the table, culprits first.

    If there are more groups of ranks, they are grouped by fewer features. A single group gives no table. Locations
    in ``file`` are written without its name.
    """
    groups = group_rows(rows, _MOST_LINES, _GROUPINGS[1:])
    return tuple(rank_line(group, words, file) for group in groups) if len(groups) > 1 else ()


def group_rows(
    rows: Sequence[RankRow], most: int, groupings: Sequence[Sequence[Feature]] | None = None
) -> list[list[RankRow]]:
    """Group rows with the same fate, culprits first.

    ``groupings`` go from fine to coarse. The first with at most ``most`` groups is taken, else the last.
    """
    groups: list[list[RankRow]] = []
    for features in (groupings or _GROUPINGS) if rows else ():
        groups = _grouped_by(rows, features)
        if len(groups) <= most:
            break
    return groups


def _grouped_by(rows: Sequence[RankRow], features: Sequence[Feature]) -> list[list[RankRow]]:
    order = {role: place for place, role in enumerate(ROLES)}
    groups = [sorted(rows, key=lambda row: row.rank)]
    for feature in features:
        groups = [part for group in groups for part in _split(group, feature)]
    return sorted(groups, key=lambda group: (order[group[0].role], group[0].rank))


def _split(group: Sequence[RankRow], feature: Feature) -> list[list[RankRow]]:
    """Split ``group`` by ``feature``. If all rows that have the feature agree, rows without it stay with them."""
    parts: dict[str, list[RankRow]] = {}
    for row in group:
        parts.setdefault(feature(row), []).append(row)
    return [[*group]] if len(parts.keys() - {""}) < 2 else list(parts.values())


def _role(row: RankRow) -> str:
    return row.role


def _rank(row: RankRow) -> str:
    return str(row.rank)


def _failure_kind(row: RankRow) -> str:
    """Return the signature, else the log line with ``#`` for numbers."""
    line = row.first_failure.line.text if row.first_failure else ""
    return row.failure or re.sub(r"\d+", "#", line.strip())[:_LONGEST] or "-"


def _operation(row: RankRow) -> str:
    return row.waits_for or row.never_started or row.busy_with


def _progress(row: RankRow) -> str:
    return row.last_progress


_GROUPINGS: tuple[tuple[Feature, ...], ...] = (
    (_role, _rank),
    (_role, _failure_kind, _operation, _progress),
    (_role, _failure_kind, _operation),
    (_role, _failure_kind),
    (_role,),
)


def rank_line(group: Sequence[RankRow], words: Catalogue, file: str = "") -> RankLine:
    """Return the line for ``group``. Locations in ``file`` are written without its name."""
    first = min((row for row in group if row.first_failure), key=lambda row: row.rank, default=None)
    proof = first.first_failure if first else None
    return RankLine(
        ranks=_rank_names([row.rank for row in group], words),
        role=words(ROLES[group[0].role]),
        host=_hosts(group, words),
        progress=_span([row.last_progress for row in group if row.last_progress]),
        failure=_most_common([_failure(row, words) for row in group], words),
        location=_location(proof, file) + (" …" if len(group) > 1 else "") if proof else "",
    )


def _location(proof: Evidence, file: str) -> str:
    return f"{proof.line.file if proof.line.file != file else ''}:{proof.line.number}"


def _rank_names(ranks: Sequence[int], words: Catalogue) -> str:
    runs = ranges(ranks, _MOST_RANGES)
    if "…" in runs:
        return words("ranks.many", n=f"{len(ranks):,}", ranks=runs)
    return words("rank.1" if len(ranks) == 1 else "rank.n", ranks=runs)


def _hosts(group: Sequence[RankRow], words: Catalogue) -> str:
    """Return the hosts of ``group``. A single rank also gets its GPU: "n1, GPU 3 0000:3b:00"."""
    hosts = host_names(list(dict.fromkeys(row.host for row in group if row.host)), words)
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


def _most_common(texts: Iterable[str], words: Catalogue) -> str:
    """Return the most common text, and count others: "… and 2 more".

    A text that is the beginning of another text is not counted.
    """
    counts = Counter(text for text in texts if text)
    found = [t for t, _ in counts.most_common() if not any(o != t and o.startswith(t) for o in counts)]
    if not found:
        return ""
    return found[0] + (f" {words('more', n=f'{len(found) - 1:,}')}" if len(found) > 1 else "")


def _span(texts: Sequence[str]) -> str:
    """Return lowest and highest text by number: ``step 39 … step 41``."""
    found = sorted(set(texts), key=lambda text: (numbers_in(text), text))
    return " … ".join(dict.fromkeys((found[0], found[-1]))) if found else ""

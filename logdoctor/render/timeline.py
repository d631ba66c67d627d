"""Who went on how long and failed when: ranks that fared alike share a lane, so that 1,024 of them can be read.

Lanes hold no pixels, only places between 0 and 100 on one axis: of time where enough of the logs print it, else of the
lines of the one log.  Where neither is there, no order can be shown and there are no lanes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import Diagnosis, Evidence, Moment, RankRow
from logdoctor.model.times import iso_time
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.rank_rows import RankLine, alike, rank_line

MOST_LANES = 32
_ENOUGH = 0.6
"""So large a part of the marks must have a time before the axis is one of time."""
_A_YEAR = 366 * 86400.0
_FEWEST = 2
"""One moment alone shows no order."""
_MARGIN = 0.06
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_MOST_TICKS = 5
_NEAR = 1.6
"""Marks that are nearer to each other than this would lie on one another."""

Kind = Literal["progress", "failure", "decisive"]


class Mark(Struct, frozen=True):
    """Something that happened, ``at`` 0 to 100 of the axis; ``label`` says what and when."""

    kind: Kind
    at: float
    label: str


class Lane(Struct, frozen=True):
    """Ranks that fared alike: who they are, their part, how long they were ``heard`` (None: not known), their marks."""

    line: RankLine
    role: str
    heard: float | None
    marks: tuple[Mark, ...]


class Timeline(Struct, frozen=True):
    """The lanes, and over them the axis: its ticks, what it counts, and where the decisive line stands on it.

    ``each``: every rank has a lane of its own.
    """

    lanes: tuple[Lane, ...]
    each: bool
    ticks: tuple[tuple[float, str], ...] = ()
    note: str = ""
    decisive: float | None = None


def timeline(told: Diagnosis, words: Catalogue) -> Timeline:
    """Give the lanes of the ranks of ``told``, the culprits first; without marks where there is no common order."""
    rows = told.picture.rank_table
    decisive = _decisive(told)
    file = file_of_all(told)
    groups = alike(rows, MOST_LANES)
    axis = _Axis.of(told, words) if groups else None
    lanes = tuple(_lane(group, words, file, axis) for group in groups)
    each = len(groups) == len(rows)
    at = axis.place(_moment(decisive)) if axis and decisive else None
    placed = {mark.at for lane in lanes for mark in lane.marks} | ({at} if at is not None else set())
    if axis is None or len(placed) < _FEWEST:
        bare = tuple(replace(lane, heard=None, marks=()) for lane in lanes)
        return Timeline(bare, each, note=words("timeline.none") if lanes else "")
    return Timeline(lanes, each, axis.ticks(), axis.note, at)


def file_of_all(told: Diagnosis) -> str:
    """The file of the decisive line, where every rank that failed did so in it: its name need not be in each row."""
    decisive = _decisive(told)
    files = {row.first_failure.line.file for row in told.picture.rank_table if row.first_failure}
    return decisive.line.file if decisive and files <= {decisive.line.file} else ""


def _lane(group: Sequence[RankRow], words: Catalogue, file: str, axis: _Axis | None) -> Lane:
    role, line = group[0].role, rank_line(group, words, file)
    if axis is None:
        return Lane(line, role, None, ())
    heard = [place for row in group if row.heard and (place := axis.place(row.heard)) is not None]
    marks = [mark for row in group for mark in _marks(row, words, axis)]
    return Lane(line, role, max(heard, default=None), _apart(marks))


def _marks(row: RankRow, words: Catalogue, axis: _Axis) -> Iterable[Mark]:
    who = words("rank.1", ranks=row.rank)
    found: list[tuple[Kind, Moment | None, str]] = [("progress", row.progressed, row.last_progress)]
    if row.first_failure:
        seen = row.first_failure
        found.append(("failure", _moment(seen), row.failure or seen.line.text.strip()[:80]))
    for kind, moment, what in found:
        place = axis.place(moment) if moment else None
        if place is not None and moment is not None:
            yield Mark(kind, place, " · ".join(filter(None, (who, what, axis.said(moment)))))


def _apart(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """One mark of each kind at each place that an eye can tell from the next; the label counts the others."""
    first: dict[tuple[str, int], Mark] = {}
    more: dict[tuple[str, int], int] = {}
    for mark in sorted(marks, key=lambda m: (m.kind != "progress", m.at)):
        key = (mark.kind, round(mark.at / _NEAR))
        first.setdefault(key, mark)
        more[key] = more.get(key, -1) + 1
    return tuple(Mark(m.kind, m.at, m.label + (f" (+{more[k]})" if more[k] else "")) for k, m in first.items())


def _decisive(told: Diagnosis) -> Evidence | None:
    named = told.causes[:1] if told.verdict == "failure" else ()
    return next((one for cause in named for one in cause.evidence), None)


def _moment(evidence: Evidence) -> Moment:
    return Moment(evidence.line.file, evidence.line.number, evidence.time)


# ── the axis ────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Axis(Struct, frozen=True):
    """From ``start`` to ``end``: seconds of the logs' clocks (``file`` empty), or lines of ``file``."""

    start: float
    end: float
    file: str
    year: int | None
    note: str

    @classmethod
    def of(cls, told: Diagnosis, words: Catalogue) -> _Axis | None:
        """Of time if most of what happened has one, else of lines if all of it stands in one log."""
        decisive = _decisive(told)
        rows = told.picture.rank_table
        ends = [_moment(one) for one in (decisive, *(row.first_failure for row in rows)) if one]
        steps = [row.progressed for row in rows if row.progressed]
        happened = [*ends, *steps]
        if not happened:
            return None
        timed = [one for one in happened if _is_date(one.time)]
        files = {one.file for one in happened}
        if len(timed) >= len(happened) * _ENOUGH or (len(files) > 1 and len(timed) > 1):
            axis = cls(0, 0, "", _year(timed), words("timeline.time"))
        elif len(files) == 1:
            file = next(iter(files))
            axis = cls(0, 0, file, None, words("timeline.line", file=file))
        else:
            return None
        return axis._over(ends, steps)

    def _over(self, ends: Iterable[Moment], steps: Iterable[Moment]) -> _Axis | None:
        """The axis from the last progress of all, or what came before it, to the last failure, with some room."""
        failed = [value for one in ends if (value := self._value(one)) is not None]
        went_on = [value for one in steps if (value := self._value(one)) is not None]
        known = [*failed, *([max(went_on)] if went_on else [])]
        if not known:
            return None
        span = max(known) - min(known)
        near = [value for value in went_on if value >= min(known) - span / 2]
        start, end = min((*known, *near)), max(known)
        room = max((end - start) * _MARGIN, 1.0)
        return _Axis(start - room, end + room, self.file, self.year, self.note)

    def place(self, moment: Moment) -> float | None:
        """Where ``moment`` is, from 0 to 100; what lies beyond an end is put there."""
        value = self._value(moment)
        if value is None:
            return None
        return round(min(max((value - self.start) / (self.end - self.start), 0.0), 1.0) * 100, 2)

    def said(self, moment: Moment) -> str:
        """The time of ``moment``, or its line."""
        time = iso_time(moment.time) if not self.file else None
        return time.partition("T")[2] if time else f"{moment.file}:{moment.line}"

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Round values, each with what to write there."""
        span = self.end - self.start
        wish = span / _MOST_TICKS
        if self.file:
            step = 10 ** math.ceil(math.log10(max(wish, 1)))
            step = step // 2 if step // 2 >= max(wish, 1) else step
        else:
            step = next((s for s in _STEPS if s >= wish), math.ceil(wish / 86400) * 86400)
        first = math.ceil(self.start / step) * step
        values = [first + step * n for n in range(_MOST_TICKS + 1) if first + step * n <= self.end]
        return tuple((round((v - self.start) / span * 100, 2), self._tick(v, step)) for v in values)

    def _tick(self, value: float, step: float) -> str:
        if self.file:
            return f":{value:.0f}"
        time = iso_time(value) or ""
        day, _, clock = time.partition("T")
        return f"{day[5:]} {clock[:5]}" if step >= 43200 else clock[:8] if step < 60 else clock[:5]

    def _value(self, moment: Moment) -> float | None:
        if self.file:
            return float(moment.line) if moment.file == self.file else None
        if not _is_date(moment.time) or moment.time is None:
            return None
        if self.year is None or moment.time >= _A_YEAR:
            return moment.time
        return datetime.fromtimestamp(moment.time, timezone.utc).replace(year=self.year).timestamp()


def _is_date(time: float | None) -> bool:
    return iso_time(time) is not None and time is not None and time >= 0


def _year(moments: Iterable[Moment]) -> int | None:
    """The year for stamps that print none: that of the first one that does (1970 stands for none)."""
    whole = min((one.time for one in moments if one.time is not None and one.time >= _A_YEAR), default=None)
    return None if whole is None else datetime.fromtimestamp(whole, timezone.utc).year

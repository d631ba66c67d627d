"""A timeline with the last progress and first failure of ranks.

Ranks with the same fate share a lane, so that a timeline of 1,024 ranks stays readable. Positions are numbers from 0
to 100 on one axis. The axis shows time if enough log lines have a time, or else the lines of a single log. Without
either, the order is unknown and the lanes have no marks.
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
from logdoctor.render.rank_table import RankLine, group_rows, rank_line

MOST_LANES = 32
_ENOUGH = 0.6
"""Share of marks with a time that an axis of time needs."""
_A_YEAR = 366 * 86400.0
_FEWEST = 2
"""Positions below which there is no order to show."""
_MARGIN = 0.06
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_MOST_TICKS = 5
_NEAR = 1.6
"""Distance below which two marks would overlap."""

Kind = Literal["progress", "failure", "decisive"]


class Mark(Struct, frozen=True):
    """An event at position ``at``. ``label`` says what happened and when."""

    kind: Kind
    at: float
    label: str


class Lane(Struct, frozen=True):
    """Ranks with the same fate. ``last_line`` is the position of their last log line, or None if it is not known."""

    line: RankLine
    role: str
    last_line: float | None
    marks: tuple[Mark, ...]


class Timeline(Struct, frozen=True):
    """Lanes and their axis.

    ``per_rank``: every rank has a lane of its own. ``note`` says what the axis counts. ``decisive`` is the position of
    the decisive line.
    """

    lanes: tuple[Lane, ...]
    per_rank: bool
    ticks: tuple[tuple[float, str], ...] = ()
    note: str = ""
    decisive: float | None = None


def timeline(diagnosis: Diagnosis, words: Catalogue) -> Timeline:
    """Return the lanes, culprits first. They have no marks if the logs have no common order."""
    rows = diagnosis.job.rank_table
    decisive = _decisive_line(diagnosis)
    file = shared_file(diagnosis)
    groups = group_rows(rows, MOST_LANES)
    axis = _Axis.of(diagnosis, words) if groups else None
    lanes = tuple(_lane(group, words, file, axis) for group in groups)
    per_rank = len(groups) == len(rows)
    at = axis.position(_moment(decisive)) if axis and decisive else None
    positions = {mark.at for lane in lanes for mark in lane.marks} | ({at} if at is not None else set())
    if axis is None or len(positions) < _FEWEST:
        empty = tuple(replace(lane, last_line=None, marks=()) for lane in lanes)
        return Timeline(empty, per_rank, note=words("timeline.none") if lanes else "")
    return Timeline(lanes, per_rank, axis.ticks(), axis.note, at)


def shared_file(diagnosis: Diagnosis) -> str:
    """Return the file in which all ranks failed, else "".

    It is the file of the decisive line. The rows of the ranks need not repeat its name.
    """
    decisive = _decisive_line(diagnosis)
    files = {row.first_failure.line.file for row in diagnosis.job.rank_table if row.first_failure}
    return decisive.line.file if decisive and files <= {decisive.line.file} else ""


def _lane(group: Sequence[RankRow], words: Catalogue, file: str, axis: _Axis | None) -> Lane:
    role, line = group[0].role, rank_line(group, words, file)
    if axis is None:
        return Lane(line, role, None, ())
    ends = [at for row in group if row.heard and (at := axis.position(row.heard)) is not None]
    marks = [mark for row in group for mark in _marks(row, words, axis)]
    return Lane(line, role, max(ends, default=None), _merge_near(marks))


def _marks(row: RankRow, words: Catalogue, axis: _Axis) -> Iterable[Mark]:
    rank = words("rank.1", ranks=row.rank)
    records: list[tuple[Kind, Moment | None, str]] = [("progress", row.progressed, row.last_progress)]
    if row.first_failure:
        failure = row.failure or row.first_failure.line.text.strip()[:80]
        records.append(("failure", _moment(row.first_failure), failure))
    for kind, moment, text in records:
        at = axis.position(moment) if moment else None
        if at is not None and moment is not None:
            yield Mark(kind, at, " · ".join(filter(None, (rank, text, axis.label(moment)))))


def _merge_near(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Merge marks of one kind that would overlap. The label counts the merged ones: "rank 3 · step 7 (+2)"."""
    first: dict[tuple[str, int], Mark] = {}
    more: dict[tuple[str, int], int] = {}
    for mark in sorted(marks, key=lambda m: (m.kind != "progress", m.at)):
        key = (mark.kind, round(mark.at / _NEAR))
        first.setdefault(key, mark)
        more[key] = more.get(key, -1) + 1
    return tuple(Mark(m.kind, m.at, m.label + (f" (+{more[k]})" if more[k] else "")) for k, m in first.items())


def _decisive_line(diagnosis: Diagnosis) -> Evidence | None:
    main = diagnosis.causes[:1] if diagnosis.answer else ()
    return next((line for cause in main for line in cause.evidence), None)


def _moment(evidence: Evidence) -> Moment:
    return Moment(evidence.line.file, evidence.line.number, evidence.time)


# ── the axis ────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Axis(Struct, frozen=True):
    """Axis from ``start`` to ``end``.

    The values are line numbers of ``file``, or seconds of the logs' clocks if ``file`` is "".
    """

    start: float
    end: float
    file: str
    year: int | None
    note: str

    @classmethod
    def of(cls, diagnosis: Diagnosis, words: Catalogue) -> _Axis | None:
        """Return an axis of time if most moments have a time.

        Otherwise return an axis of lines if all moments are in one file.
        """
        decisive = _decisive_line(diagnosis)
        rows = diagnosis.job.rank_table
        failures = [_moment(line) for line in (decisive, *(row.first_failure for row in rows)) if line]
        steps = [row.progressed for row in rows if row.progressed]
        moments = [*failures, *steps]
        if not moments:
            return None
        timed = [moment for moment in moments if _is_date(moment.time)]
        files = {moment.file for moment in moments}
        if len(timed) >= len(moments) * _ENOUGH or (len(files) > 1 and len(timed) > 1):
            axis = cls(0, 0, "", _year(timed), words("timeline.time"))
        elif len(files) == 1:
            file = next(iter(files))
            axis = cls(0, 0, file, None, words("timeline.line", file=file))
        else:
            return None
        return axis._fit(failures, steps)

    def _fit(self, failures: Iterable[Moment], steps: Iterable[Moment]) -> _Axis | None:
        """Return the axis with its ends set, and with margins.

        It covers all failures and the last step of all ranks. Earlier steps are covered only if they are near.
        """
        failed = [value for moment in failures if (value := self._value(moment)) is not None]
        progressed = [value for moment in steps if (value := self._value(moment)) is not None]
        values = [*failed, *([max(progressed)] if progressed else [])]
        if not values:
            return None
        span = max(values) - min(values)
        near = [value for value in progressed if value >= min(values) - span / 2]
        start, end = min((*values, *near)), max(values)
        margin = max((end - start) * _MARGIN, 1.0)
        return _Axis(start - margin, end + margin, self.file, self.year, self.note)

    def position(self, moment: Moment) -> float | None:
        """Return the position of ``moment`` from 0 to 100. Without a value on this axis it is None."""
        value = self._value(moment)
        if value is None:
            return None
        return round(min(max((value - self.start) / (self.end - self.start), 0.0), 1.0) * 100, 2)

    def label(self, moment: Moment) -> str:
        """Return the time of ``moment``, or ``file:line``."""
        time = iso_time(moment.time) if not self.file else None
        return time.partition("T")[2] if time else f"{moment.file}:{moment.line}"

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Return positions of round values with their labels, for example ``(50.0, "02:15")``."""
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
    """Return the year of the earliest time that has one.

    Log times without a year are read as 1970, and this year is put in its place.
    """
    first = min((moment.time for moment in moments if moment.time is not None and moment.time >= _A_YEAR), default=None)
    return None if first is None else datetime.fromtimestamp(first, timezone.utc).year

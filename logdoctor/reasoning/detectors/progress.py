"""The ledger of progress: how far each rank got, what it did last, and who stopped before the others.

Derived events (dialect ``ledger``; each stands on a line of the log that shows it):

- ``ledger.stopped_first``  one rank (or few) made its last step clearly before the others made theirs: late,
  late_hosts, rank (where it is one), unit, step (its last), others_step, behind (how many of its own intervals), phase
  (what it began after its last step, if it said so), work, certain (``no`` if its log is a file of its own that ends
  there: it may have been cut)
- ``ledger.stood_still``    the job had shown no sign of life for long when its time limit ended it: idle_s, idle (in
  words), unit, step, phase

Where ranks print their own steps, training in step keeps them within one interval of each other.  One interval alone
is no evidence: a process that is killed loses what its buffers hold.  So a rank counts as behind if it is two
intervals back, or one and began something else after its last step, or fell silent long before the others.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import STARTS
from logdoctor.reasoning.lifecycle.clocks import printed_after

FEWEST = 3
MOST_BEHIND = 4
"""At most one in so many ranks stopped first (one always may)."""
SILENT_STEPS = 5
"""A rank that was silent for so many of its own steps' time when the others made their last one stopped before them."""
MAX_RANKS = 4096
MAX_SERIES = 4
LONG_STILL = 1800.0
LONG_GAPS = 5
"""Standing still is longer than so many times the longest time between two steps."""
ZONE = 900.0
"""Clocks of different zones differ by multiples of so many seconds."""
ZONE_SLACK = 45.0
_OVER = later(r"(?i)\b(?:saved|successfully|finished|completed?|done|took)\b")
_EPOCH = later(r"(?i)\bepoch\W{0,3}(\d{1,7})")
_DIGITS = later(r"\d+")
_LIMIT = later(r"(?i)time ?limit|TIMEOUT|walltime|RUNLIMIT|deadline")

Series = tuple[str, str]
Who = int | tuple[str, int]
"""A rank, or a process on a host where no rank is told."""


class Course(Struct):
    """How one rank got on in one series of steps: the last two steps, and how many there were."""

    last: Record
    place: tuple[int, int]
    before: tuple[int, int] | None = None
    began: float | None = None
    count: int = 1
    turned: bool = False
    """The counter began anew and nothing tells the epoch: places cannot be compared."""

    def add(self, record: Record, place: tuple[int, int]) -> None:
        """Take one more step in."""
        if place == self.place:
            self.last = record
            return
        self.turned = self.turned or place < self.place
        self.before, self.place, self.last, self.count = self.place, place, record, self.count + 1

    @property
    def interval(self) -> int:
        """How far apart its steps are; 1 where nothing tells."""
        if self.before is None or self.before[0] != self.place[0]:
            return 1
        return max(1, self.place[1] - self.before[1])

    @property
    def seconds(self) -> float | None:
        """How long a step takes, on the average."""
        if self.began is None or self.last.time is None or self.count < FEWEST:
            return None
        return max(0.0, self.last.time - self.began) / (self.count - 1)


class Detector(Struct):
    """Folds the progress of each rank; `derive` tells who stopped first, and whether the job stood still."""

    courses: dict[Series, dict[Who, Course]] = field(default_factory=dict)
    doing: dict[Who, Record] = field(default_factory=dict)
    """What each of them said last that it began."""
    failed: dict[Who, Record] = field(default_factory=dict)
    """The last failure that each of them printed."""
    step: Record | None = None
    steps: int = 0
    gap: float = 0.0
    """The longest time between two steps, in seconds."""
    phase: Record | None = None
    limit: Record | None = None

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if record.kind == "progress.step":
            self._see_gap(record)
            self.step, self.phase = record, None
            if (who := _who(record)) is not None:
                self._see_step(record, who)
        elif record.kind == "progress.phase":
            self.phase = record
            who = _who(record)
            if who is not None and (who in self.doing or len(self.doing) < MAX_RANKS):
                self.doing[who] = record
        elif not STARTS.isdisjoint(record.signs):
            self.failed.clear()
            self.courses.clear()
            self.doing.clear()
        elif record.failing and (who := _who(record)) is not None and len(self.failed) < MAX_RANKS:
            self.failed[who] = record
        if "why ended" in record.signs and self.limit is None and _LIMIT.search(record.text):
            self.limit = record

    def _see_gap(self, record: Record) -> None:
        """How long the job mostly goes without a word about its steps."""
        self.steps += 1
        if self.step is not None and self.step.time is not None and record.time is not None:
            self.gap = max(self.gap, record.time - self.step.time)

    def _see_step(self, record: Record, rank: Who) -> None:
        value = record.fields.get("value")
        if not isinstance(value, int):
            return
        series = (str(record.fields.get("unit", "")), _DIGITS.sub("#", str(record.fields.get("what", "")))[:80])
        if series not in self.courses and len(self.courses) >= MAX_SERIES:
            return
        ranks = self.courses.setdefault(series, {})
        place = (_epoch(record), value)
        if rank in ranks:
            ranks[rank].add(record, place)
        elif len(ranks) < MAX_RANKS:
            ranks[rank] = Course(record, place, began=record.time)

    def derive(self, state: JobState) -> list[Record]:
        """The events that follow from all that was observed."""
        return [*self._stopped_first(state), *self._stood_still(state)]

    def _stopped_first(self, state: JobState) -> list[Record]:
        if not self.courses or state.good_ends.done is not None:
            return []
        series = max(self.courses, key=lambda s: (len(self.courses[s]), s))
        courses = {r: c for r, c in self.courses[series].items() if c.count >= FEWEST}
        if len(courses) < FEWEST or any(c.turned for c in courses.values()):
            return []
        behind = self._behind(courses)
        if not behind:
            return []
        first = min(behind, key=lambda r: (courses[r].place, courses[r].last.order))
        ranks = sorted({r for b in behind if (r := state.places.rank_of(courses[b].last)) is not None})
        course, ahead = courses[first], [c for r, c in courses.items() if r not in behind]
        fields: dict[str, Value] = {
            "late": tuple(ranks),
            "late_hosts": tuple(sorted({h for r in behind if (h := state.places.host_of(courses[r].last))})),
            "unit": series[0],
            "step": course.place[1],
            "others_step": min(c.place for c in ahead)[1],
            "behind": _back(course, min(c.place for c in ahead)),
            "certain": "yes" if all(self._goes_on(b, courses[b], ahead) for b in behind) else "no",
        }
        own = self._doing(first, course)
        if own is not None:
            fields |= {"phase": str(own.fields.get("phase", "")), "work": own.text.strip()[:120]}
        if len(ranks) == 1:
            fields["rank"] = ranks[0]
        return [derived("stopped_first", own or course.last, fields)]

    def _goes_on(self, who: Who, course: Course, ahead: list[Course]) -> bool:
        """Whether the log of a process that stopped surely reaches beyond its last step."""
        file = course.last.line.file
        failed = self.failed.get(who)
        return (failed is not None and printed_after(failed, course.last)) or all(
            c.last.line.file == file for c in ahead
        )

    def _behind(self, courses: Mapping[Who, Course]) -> list[Who]:
        """The ranks that stopped clearly before all others, which stand together."""
        places = sorted(c.place for c in courses.values())
        most = places[len(places) // 2]
        behind = [r for r, c in courses.items() if c.place < most]
        ahead = [c for r, c in courses.items() if r not in behind]
        if not behind or len(behind) > max(1, len(courses) // MOST_BEHIND):
            return []
        if any(_back(c, max(places)) > 1 for c in ahead):
            return []
        clear = all(self._clearly(r, courses[r], ahead) for r in behind)
        return behind if clear else []

    def _clearly(self, rank: Who, course: Course, ahead: list[Course]) -> bool:
        back = _back(course, min(c.place for c in ahead))
        if back >= 2:
            return True
        own = self._doing(rank, course)
        if own is not None and not any(self._doing(_who(c.last), c) for c in ahead):
            return True
        seconds = course.seconds
        times = [c.last.time for c in ahead if c.last.time is not None]
        if seconds is None or course.last.time is None or len(times) < len(ahead):
            return False
        return min(times) - course.last.time > SILENT_STEPS * max(seconds, 1.0)

    def _doing(self, rank: Who | None, course: Course) -> Record | None:
        """What a rank began after its last step and did not say was over."""
        doing = self.doing.get(rank) if rank is not None else None
        if doing is None or not printed_after(doing, course.last) or _OVER.search(doing.text):
            return None
        return doing

    def _stood_still(self, state: JobState) -> list[Record]:
        step, limit = self.step, self.limit
        if step is None or limit is None or state.good_ends.done is not None or self.steps < FEWEST:
            return []
        life = self.phase or step
        if life.time is None or limit.time is None:
            return []
        idle = limit.time - life.time
        off = idle % ZONE
        if idle < max(LONG_STILL, LONG_GAPS * self.gap) or min(off, ZONE - off) < ZONE_SLACK:
            return []
        fields: dict[str, Value] = {"idle_s": int(idle), "idle": _span(idle), "unit": str(step.fields.get("unit", ""))}
        if "value" in step.fields:
            fields["step"] = step.fields["value"]
        if self.phase is not None and not _OVER.search(self.phase.text):
            fields["phase"] = str(self.phase.fields.get("phase", ""))
        return [derived("stood_still", limit, fields)]


def _who(record: Record) -> Who | None:
    if record.rank is not None:
        return record.rank
    return None if record.pid is None else (record.host or "", record.pid)


def _epoch(record: Record) -> int:
    """The epoch that a step belongs to, 0 where it is not told."""
    given = str(record.fields.get("epoch", "")).partition(".")[0]
    if given.isdecimal():
        return int(given[:9])
    hit = _EPOCH.search(str(record.fields.get("what", "")))
    return int(hit[1]) if hit else 0


def _back(course: Course, place: tuple[int, int]) -> int:
    """How many intervals a rank is behind ``place``; over the end of an epoch at least two."""
    if course.place[0] != place[0]:
        return 2 if course.place[0] < place[0] else 0
    return max(0, place[1] - course.place[1]) // course.interval


def _span(seconds: float) -> str:
    minutes = int(seconds) // 60
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"

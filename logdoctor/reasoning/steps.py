"""The one table of progress: how far each process came, and where the counters and the series of steps stand.

Of each process the last steps are kept, and the last few of each earlier attempt. A **counter** is of one rank and
counts towards one total. A **series** is the steps of one unit and one loop, of a process or in a file.
"""

from __future__ import annotations

import copy
import itertools
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from math import floor, isfinite

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.lifecycle.clocks import after, elapsed, middle
from logdoctor.reasoning.processes import Process, Processes, process_of

MAX_PROCESSES, MAX_COUNTERS, MAX_FILES = 4096, 4096, 4096
MAX_STEPS, MAX_OLDER_STEPS = 64, 64
MAX_SERIES = 8
"""Series of one file."""
LATEST_STEPS = 16
"""Steps of a process that are compared with those of others."""
ENOUGH_STEPS = 3
"""Number of steps after a failure that show that it was survived."""
FIRST_VALUES = (0, 1)
Series = tuple[str, str]
"""Unit of steps, and the loop that counts them."""
Place = tuple[float, float]
"""Epoch and number of a step."""
Reached = dict[Series, tuple[Place, Place]]
"""First and last place of each series."""
_DIGITS = later(r"\d+")
_EPOCH = later(r"(?i)\bepoch\W{0,3}(\d{1,7})")


class Work(Struct):
    """Steps of one process: their number and the latest records, the oldest first."""

    count: int = 0
    latest: deque[Record] = field(default_factory=lambda: deque(maxlen=MAX_STEPS))
    older: deque[Record] = field(default_factory=lambda: deque(maxlen=MAX_OLDER_STEPS))
    """Last records of each earlier attempt or job."""
    longest_step: float = 0.0
    """Longest time between two steps in seconds. Steps between them that were not read took their usual time."""
    stride: float = 0.0
    """Fewest steps from one record to the next."""
    usual: tuple[float, int] = 0.0, 0
    """Seconds between records of which the next followed, and their number."""

    def add(self, step: Record) -> None:
        if self.latest:
            self._measure(self.latest[-1], step)
        self.count += 1
        self.latest.append(step)

    def _measure(self, earlier: Record, step: Record) -> None:
        seconds = elapsed(earlier, step)
        if seconds is None or seconds < 0:
            return
        counts = earlier.fields.get("value"), step.fields.get("value")
        before, now = (count if isinstance(count, int | float) else 0.0 for count in counts)
        further = now - before if series_of(earlier) == series_of(step) else 0.0
        if further > 0:
            self.stride = min(self.stride or further, further)
        unread = further / self.stride - 1 if further > 0 else 0.0
        if unread < 1:
            self.usual = self.usual[0] + seconds, self.usual[1] + 1
        total, count = self.usual
        pace = (total - self.longest_step) / (count - 1) if count > 1 and total > self.longest_step else seconds
        longest = max(seconds - unread * pace, seconds / (unread + 1))
        self.longest_step = max(self.longest_step, longest)

    def begin_attempt(self) -> None:
        last = self.older[-1].order if self.older else -1
        self.older.extend(e for e in [*self.latest][-ENOUGH_STEPS:] if e.order > last)

    def newest_first(self) -> Iterator[Record]:
        """Yield each kept record once, the latest first."""
        yield from reversed(self.latest)
        first = self.latest[0].order if self.latest else sys.maxsize
        yield from (record for record in reversed(self.older) if record.order < first)

    def after(self, alarm: Record, counts: Callable[[Record], bool]) -> Iterator[Record]:
        """Yield the steps after ``alarm`` that pass ``counts``, the latest first.

        A bar that is drawn again at the same place is no step.
        """
        came_after, place = after(alarm), None
        for step in self.newest_first():
            if came_after(step) and counts(step):
                place, before = _place_of_bar(step), place
                if place is None or place != before:
                    yield step

    def seconds_per_step(self) -> float | None:
        """Return the median time between two steps, None if fewer than two steps tell it."""
        spans = (_seconds_per_step(*pair) for pair in itertools.pairwise(self.latest))
        known = sorted(span for span in spans if span is not None)
        return known[len(known) // 2] if known else None


class Counter(Struct, frozen=True):
    """Steps of one rank that count towards one total."""

    value: float
    total: float
    first: float
    stride: float = 1
    records: int = 1
    began_again: bool = False

    def at(self, value: float) -> Counter:
        """Return the counter one step later."""
        again = self.began_again or value < self.value
        return Counter(value, self.total, self.first, value - self.value, self.records + 1, again)

    @property
    def at_end(self) -> bool:
        """Return whether the last step is reached. The last of 10 steps counted from 0 is 9."""
        return self.value == self.total or (self.first == 0 and self.value + 1 == self.total)


class Steps:
    """The steps of all processes."""

    READS = ("works",)

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self.works: dict[Process, Work] = {}
        self.first: Record | None = None
        self.last: Record | None = None
        self._counters: dict[Hashable, Counter] = {}
        """Counters of this attempt."""
        self._series: dict[str, tuple[Reached, Reached]] = {}
        """The series of each file: those of this span (see lifecycle/attempts.py) and those of the span before."""
        self._records = 0
        self._wanted: Callable[[Record], bool] = is_any
        """Filter for the steps of the selected run."""
        self._by_rank: tuple[int, dict[int | None, Record]] = -1, {}
        """Cache of `by_rank`, with the number of records at which it was made."""

    def observe(self, record: Record) -> None:
        if not record.has("works", "process"):
            return
        self._records += 1
        self.first, self.last = self.first or record, record
        process = process_of(record)
        work = self.works.get(process)
        if work is None and len(self.works) < MAX_PROCESSES:
            work = self.works[process] = Work()
        if work is not None:
            work.add(record)
        self._count(record)

    def _count(self, step: Record) -> None:
        value, total = step.fields.get("value"), step.fields.get("total")
        if isinstance(value, int | float) and isinstance(total, int | float):
            counter = self._counters.get(key := _counter_of(step))
            if counter is not None or len(self._counters) < MAX_COUNTERS:
                self._counters[key] = counter.at(value) if counter else Counter(value, total, value)
        file, series, place = step.line.file, series_of(step), _proved_place(step)
        if place is None or (file not in self._series and len(self._series) >= MAX_FILES):
            return
        now, _ = self._series.setdefault(file, ({}, {}))
        if series in now or len(now) < MAX_SERIES:
            now[series] = now.get(series, (place,))[0], place

    def begin_attempt(self) -> None:
        self._counters.clear()
        for work in self.works.values():
            work.begin_attempt()

    def begin_span(self, file: str) -> None:
        """Begin the series of a file anew."""
        if file in self._series:
            self._series[file] = {}, self._series[file][0]

    def starts_over(self, step: Record) -> bool:
        """Return whether a step that was not read yet starts its series over."""
        return _starts_over(step, self._series.get(step.line.file, ({}, {}))[0])

    def begins_anew(self, step: Record) -> bool:
        """Return whether a step that was not read yet begins its series in the span, and counts from the start."""
        now, before = self._series.get(step.line.file, ({}, {}))
        is_first = series_of(step) not in now
        return is_first and (_starts_over(step, before) if before else is_first_of_count(step))

    # ── queries ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def of_run(self, wanted: Callable[[Record], bool]) -> Steps:
        """Return a view whose `by_rank` is of the run whose records ``wanted`` selects."""
        view = copy.copy(self)
        view._wanted, view._by_rank = wanted, (-1, {})  # noqa: SLF001 - same class
        return view

    def of(self, rank: int | None) -> Iterator[Work]:
        """Yield the steps that may be of ``rank``, or those of all processes."""
        ranked = (process for process in self.works if isinstance(process, int) and rank in (None, process))
        unranked = (process for process in self.works if not isinstance(process, int))
        yield from (self.works[process] for process in (*ranked, *unranked))

    @property
    def ranks(self) -> set[int]:
        """Return the ranks that made steps of their own."""
        return {process for process in self.works if isinstance(process, int)}

    def by_rank(self) -> dict[int | None, Record]:
        """Return the last step that each rank reported in the selected run.

        The key None holds a step without a rank. Ask after the whole log was read, because only then local ranks and
        pids can be resolved.
        """
        if self._by_rank[0] != self._records:
            self._by_rank = self._records, self._find_last()
        return self._by_rank[1]

    def _find_last(self) -> dict[int | None, Record]:
        last = dict[int | None, Record]()
        for work in self.of(None):
            for record in filter(self._wanted, work.newest_first()):
                for rank in {record.rank, self._processes.rank_of(record)}:
                    if rank not in last or last[rank].order < record.order:
                        last[rank] = record
                if record.rank is not None:
                    break
        return last

    @property
    def latest(self) -> Record | None:
        """Return the last step of the selected run."""
        return max(self.by_rank().values(), key=lambda e: e.order, default=None)

    @property
    def final(self) -> Record | None:
        """Return the last step of all, if its number is the total. Bars do not count, because any loop may draw one."""
        return self.last if self.last is not None and is_final(self.last) else None

    def kept(self) -> Iterator[Record]:
        """Yield the kept steps of all processes."""
        for work in self.works.values():
            yield from work.newest_first()

    def loops(self, wanted: Callable[[Record], bool]) -> dict[Series, dict[Process, list[Record]]]:
        """Return the latest steps of each process by series, each at another place than the one before."""
        loops: dict[Series, dict[Process, list[Record]]] = {}
        for process, work in self.works.items():
            for step in [*work.latest][-LATEST_STEPS:] if not isinstance(process, str) else ():
                if isinstance(step.fields.get("value"), int) and wanted(step):
                    steps = loops.setdefault(series_of(step), {}).setdefault(process, [])
                    if steps and place_of(steps[-1]) == place_of(step):
                        steps.pop()
                    steps.append(step)
        return loops

    def any_between(self, earlier: Record, later: Record) -> bool:
        """Return whether any process made a step between two records, as far as its steps are kept."""
        return any(earlier.order < step.order < later.order for step in self.kept())

    def seconds(self) -> float | None:
        """Return the median time of a step, of the rank with the most steps."""
        ranked = [work for process, work in self.works.items() if isinstance(process, int)]
        most = max(ranked or self.works.values(), key=lambda work: work.count, default=None)
        return most.seconds_per_step() if most else None

    def _counter(self, step: Record) -> Counter | None:
        """Return the counter of a step in this attempt, if it moved."""
        counter = self._counters.get(_counter_of(step))
        return counter if counter is not None and counter.records > 1 else None

    def are_complete(self, last: Record) -> bool:
        """Return whether all counters reached their totals, and ``last`` is a step of the main one.

        The main counter of a job never begins again. A counter of batches does, in each epoch, and ends in the last.
        """
        main = self._counter(last)
        is_last_epoch = "epochs" in last.fields and str(last.fields["epochs"]) == last.fields.get("epoch")
        if main is None or ((main.began_again or "epoch" in last.fields) and not is_last_epoch):
            return False
        return all(counter.value == counter.total for counter in self._counters.values())

    def is_at_end(self, last: Record) -> bool:
        """Return whether the counter of ``last`` reached its end."""
        counter = self._counter(last)
        return counter is not None and counter.at_end

    def has_more(self, last: Record) -> bool:
        """Return whether ``last`` says that steps are left: by its total, or by the time that they need."""
        total = last.fields.get("total")
        return bool(last.fields.get("eta_s")) or (total is not None and not self.is_at_end(last))

    def may_end_after(self, last: Record) -> bool:
        """Return whether the step after ``last`` would be beyond the total of its counter."""
        counter = self._counter(last)
        return counter is not None and (counter.at_end or counter.value + counter.stride >= counter.total)


def advances(step: Record) -> bool:
    """Return whether the line is more than a bar, which programs draw again though nothing moves."""
    return step.fields.get("advances") is not False


def series_of(step: Record) -> Series:
    what = step.fields.get("what")
    return str(step.fields.get("unit", "")), _DIGITS.sub("#", str(what)[:80]) if what else ""


def count_of(step: Record) -> str:
    """Return ``40/100``, or ``40`` without a total, or "" without a number."""
    value, total = step.fields.get("value"), step.fields.get("total")
    return "" if value is None else str(value) if total is None else f"{value}/{total}"


def place_of(step: Record) -> Place:
    """Return the epoch and the number of a step, 0 where it is not told. A loop may tell its epoch in its name."""
    epoch, what = step.fields.get("epoch"), step.fields.get("what")
    named = _EPOCH.search(str(what)) if epoch is None and what else None
    return _number(named[1] if named else epoch), _number(step.fields.get("value"))


def _proved_place(step: Record) -> Place | None:
    """Return the place of a step. Return None for a bar without an epoch, because any loop draws one."""
    if "epoch" not in step.fields and not advances(step):
        return None
    try:
        return float(str(step.fields.get("epoch", 0))), float(str(step.fields.get("value")))
    except ValueError:
        return None


def _starts_over(step: Record, reached: Reached) -> bool:
    """Return whether a series starts over after progress.

    Example: step 1 starts over a series that began with step 1 and reached step 9.
    """
    place, (first, last) = _proved_place(step), reached.get(series_of(step), ((0.0, 0.0), (0.0, 0.0)))
    return place is not None and place <= first < last


def is_first_of_count(step: Record) -> bool:
    """Return whether a count begins: epoch 0 or 1, or step 0 or 1 of a count without epochs."""
    if step.fields.get("value") not in FIRST_VALUES:
        return False
    return step.fields.get("unit") == "epoch" or ("epoch" not in step.fields and advances(step))


def intervals_behind(steps: Sequence[Record], place: Place) -> int:
    """Return how many intervals the steps of a process are behind ``place``. An earlier epoch counts as two."""
    before, (epoch, number) = place_of(steps[-2]), place_of(steps[-1])
    if epoch // 1 != place[0] // 1:
        return 2 if epoch < place[0] else 0
    interval = number - before[1] if before[0] // 1 == epoch // 1 else 1
    return floor(max(0, place[1] - number) / max(1, interval))


def is_final(step: Record) -> bool:
    """Return whether the number of a step is its total.  Bars do not count."""
    return is_last_of_count(step) and advances(step)


def is_last_of_count(step: Record) -> bool:
    """Return whether the number of a step is its total, in an epoch also that of its batch."""
    fields = step.fields
    value, batch = fields.get("value"), fields.get("batch")
    return value is not None and value == fields.get("total") and batch == fields.get("batches")


def usual_gap(steps: Iterable[Record]) -> float | None:
    """Return the median of the seconds between steps, None without stamps."""
    times = [step.time for step in steps if step.time is not None]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times) if later >= earlier]
    return middle(gaps) if gaps else None


def _seconds_per_step(earlier: Record, later: Record) -> float | None:
    counts = (earlier.fields.get("value"), later.fields.get("value"))
    before, now = (count if isinstance(count, int | float) else 0 for count in counts)
    if earlier.time is None or later.time is None or now <= before or later.time < earlier.time:
        return None
    if earlier.fields.get("unit") != later.fields.get("unit"):
        return None
    return (later.time - earlier.time) / (now - before)


def _place_of_bar(step: Record) -> tuple[object, ...] | None:
    """Return the place of an unfinished bar.  Return None for any other step."""
    fields = step.fields
    value, total = fields.get("value"), fields.get("total")
    return None if value == total or advances(step) else (value, total, fields.get("what"), step.rank)


def _counter_of(step: Record) -> Hashable:
    return step.rank, step.fields.get("unit"), step.fields.get("total")


def _number(value: object) -> float:
    try:
        number = float(str(value).partition("/")[0])
    except ValueError:
        return 0.0
    return number if isfinite(number) else 0.0


def is_any(_: Record) -> bool:
    return True

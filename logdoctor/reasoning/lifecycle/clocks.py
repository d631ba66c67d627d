"""Times of different clocks compared: stamps without a year, and hosts whose clocks differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone

from logdoctor.model import HostClock, Record, Value

SKEW = 60.0
"""Seconds that the clocks of two hosts may differ of which nothing more is known."""
JITTER, DRIFT = 5.0, 0.05
"""What happens at once is printed within so many seconds; clocks that differ much may drift by that share of it."""
FEWEST_SHARED, MOST_AGREE = 2, 0.75
"""So many shared events must tell the same difference, and that share of all of them."""
MAX_SHARED, MAX_HOSTS = 256, 256
STEP = "progress.step"
SHARED = {
    "c10d.watchdog_timeout": ("seq", "op", "numel_in"),
    "c10d.dump_signal": ("from_rank",),
    "c10d.barrier_done": ("world",),
    "nccl.comm_init": ("comm_id",),
    "elastic.signal_received": ("signal",),
}
"""Kinds of events that happen on several hosts at once, and the fields that tell one from another."""
Key = tuple[Value | None, ...]
A_YEAR = 366 * 86400.0
"""Stamps that print no year count as of 1970 (the kernel's, the journal's, c10's)."""


def elapsed(earlier: Record, later: Record) -> float | None:
    """The seconds from one event to the other by their stamps; None where one has none.

    Where only one of them prints a year, both count as of that year.
    """
    first, last = moment(earlier), moment(later)
    return None if first is None or last is None else _as_of(last, first) - _as_of(first, last)


def printed_after(later: Record, earlier: Record) -> bool:
    """Whether ``later`` came after ``earlier``: by place in one file, by time between files (unknown: no)."""
    return after(earlier)(later)


def after(earlier: Record) -> Callable[[Record], bool]:
    """`printed_after` for many events and one ``earlier``.

    What another stream put between the lines of a record of several lines was printed before its last word.
    """
    file, order, first, number = earlier.line.file, earlier.order, moment(earlier), earlier.line.number

    def came_after(later: Record) -> bool:
        if later.line.file == file:
            return later.order > order and later.line.number >= number
        last = moment(later) if first is not None else None
        return last is not None and first is not None and _as_of(last, first) > _as_of(first, last)

    return came_after


def moment(record: Record) -> float | None:
    """When it was printed, or when what it reports happened (torchrun's summary: ``2024-08-28_03:15:54``)."""
    time = record.source.time
    if time is not None:
        return time
    when = record.fields.get("when")
    if not isinstance(when, str):
        return None
    try:
        return datetime.fromisoformat(when.replace("_", " ")).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None


def _as_of(moment: float, other: float) -> float:
    """``moment`` in the year of ``other``, if it has none itself and that year is one."""
    if not 0 <= moment < A_YEAR <= other:
        return moment
    try:
        year = datetime.fromtimestamp(other, timezone.utc).year
    except (ValueError, OverflowError, OSError):  # a stamp far beyond the calendar
        return moment
    return datetime.fromtimestamp(moment, timezone.utc).replace(year=year).timestamp()


class Clocks:
    """How far the clocks of hosts differ, from events that happened on several of them at the same time.

    Such are a step that all ranks take together, a collective that all of them gave up on, the signal of the rank that
    gave up first, the end of a barrier or of a communicator's start, an order to all agents to end.
    """

    def __init__(self) -> None:
        """Start with nothing known."""
        self._shared: dict[Key, dict[str, float]] = {}
        self._steps = 0
        self._compared: tuple[HostClock, ...] | None = None

    def observe(self, record: Record, host: str | None) -> None:
        """Take one event in, which was printed on ``host``."""
        key = _shared_event(record) if host and record.time is not None else None
        if key is None or host is None or record.time is None:
            return
        times = self._shared.get(key)
        if times is None:
            step = record.kind == STEP
            if (self._steps if step else len(self._shared) - self._steps) >= MAX_SHARED:
                return
            self._steps += step
            times = self._shared[key] = {}
        if host in times or len(times) < MAX_HOSTS:
            times[host] = min(record.time, times.get(host, record.time))
            self._compared = None

    def compared(self) -> tuple[HostClock, ...]:
        """Of each host that can be compared how far its clock is ahead of that of the host which shares most events."""
        if self._compared is None:
            self._compared = tuple(self._compare())
        return self._compared

    def _compare(self) -> Iterator[HostClock]:
        shared = [times for times in self._shared.values() if len(times) > 1]
        counts = Counter(host for times in shared for host in times)
        if not counts:
            return
        other = min(counts, key=lambda host: (-counts[host], host))
        for host in sorted(counts.keys() - {other}):
            both = [(t[host], t[other]) for t in shared if host in t and other in t]
            apart = [_as_of(one, two) - _as_of(two, one) for one, two in both]
            if len(apart) < FEWEST_SHARED:
                continue
            middle = _median(apart)
            agreeing = sum(abs(a - middle) <= max(JITTER, abs(middle) * DRIFT) for a in apart)
            if agreeing >= max(FEWEST_SHARED, len(apart) * MOST_AGREE):
                yield HostClock(host, other, middle, len(apart))

    def seconds(
        self, earlier: Record, later: Record, hosts: tuple[str | None, str | None]
    ) -> tuple[float | None, float]:
        """The seconds from one event to the other, each printed on its host, and how far that may be wrong."""
        apart = elapsed(earlier, later)
        one, two = hosts
        if one is not None and one == two:
            return apart, 0.0
        ahead = {name: seconds for c in self.compared() for name, seconds in ((c.of, 0.0), (c.host, c.ahead))}
        if apart is None or one not in ahead or two not in ahead:
            return apart, SKEW
        return apart - ahead[two] + ahead[one], JITTER


def _median(numbers: Sequence[float]) -> float:
    """As `statistics.median`, the import of which takes as long as reading a small log."""
    ordered, half = sorted(numbers), len(numbers) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _shared_event(record: Record) -> Key | None:
    """What the event is, if it happens on all hosts of a job at once."""
    fields = record.fields
    if record.kind == STEP:
        value = fields.get("value")
        return (STEP, fields.get("unit"), fields.get("epoch"), value) if isinstance(value, int) else None
    names = SHARED.get(record.kind)
    if names is None or (record.kind == "nccl.comm_init" and fields.get("phase") != "COMPLETE"):
        return None
    told = tuple(fields.get(name) for name in names)
    return None if None in told else (record.kind, *told)

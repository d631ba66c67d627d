"""Times of different clocks, compared.

Some stamps have no year, and the clocks of hosts differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timezone

from logdoctor.model import HostClock, Record, Value

SKEW = 60.0
"""Seconds that the clocks of two hosts may differ if they were not compared."""
JITTER, DRIFT = 5.0, 0.05
"""Doubt after a comparison: ``JITTER`` seconds, or the share ``DRIFT`` of a large difference."""
FEWEST_SHARED, MOST_AGREE = 2, 0.75
"""Number and share of the shared records that must show the same difference."""
MAX_SHARED, MAX_HOSTS = 256, 256
SHARED = {
    "c10d.watchdog_timeout": ("seq", "op", "numel_in"),
    "c10d.dump_signal": ("from_rank",),
    "c10d.barrier_done": ("world",),
    "nccl.comm_init": ("comm_id",),
    "elastic.signal_received": ("signal",),
}
"""Kinds of records that several hosts print at once, and the fields that identify the occasion."""
Key = tuple[Value | None, ...]
A_YEAR = 366 * 86400.0
"""Limit of stamps without a year.  The kernel, the journal and c10 print none, so their stamps count from 1970."""


def elapsed(earlier: Record, later: Record) -> float | None:
    """Return the seconds between two records.

    Return None if a stamp is missing. If only one stamp has a year, the other gets the nearest year.
    """
    first, last = moment(earlier), moment(later)
    return None if first is None or last is None else nearest_year(last, first) - nearest_year(first, last)


def printed_after(later: Record, earlier: Record) -> bool:
    """Return whether ``later`` was printed after ``earlier``.

    Position decides within one file, time between files. Return False if a time is unknown. A file that collects the
    lines of several processes may show those of one late, so there the times of two processes count too.
    """
    return after(earlier)(later)


def after(earlier: Record) -> Callable[[Record], bool]:
    """Return a test whether a record was printed after ``earlier``.

    The test gives the result of `printed_after`. A line between the lines of a multi-line record was printed before the
    end of that record, so it is not later.
    """
    file, order, first, number = earlier.line.file, earlier.order, moment(earlier), earlier.line.number

    def was_collected_late(later: Record) -> bool:
        process, other = earlier.source.pid, later.source.pid
        if first is None or process is None or other in (None, process):
            return False
        last = moment(later)
        return last is not None and nearest_year(last, first) < nearest_year(first, last)

    def came_after(later: Record) -> bool:
        if later.line.file == file:
            return later.order > order and later.line.number >= number and not was_collected_late(later)
        last = moment(later) if first is not None else None
        return last is not None and first is not None and nearest_year(last, first) > nearest_year(first, last)

    return came_after


def earliest(failures: Iterable[Record]) -> Record | None:
    """Return the earliest of ``failures``, which stand in reading order.

    Return None if they stand in several files and no clock tells which came first. The name of a file tells nothing.
    """
    first_of_file: dict[str, Record] = {}
    for record in failures:
        first_of_file.setdefault(record.line.file, record)
    if len(first_of_file) < 2:
        return next(iter(first_of_file.values()), None)
    timed = [(record.time < A_YEAR, record.time, record) for record in first_of_file.values() if record.time]
    kinds = {without_year for without_year, *_ in timed}
    return min(timed, key=lambda entry: entry[1])[-1] if len(kinds) == 1 else None


def moment(record: Record) -> float | None:
    """Return the time of the stamp.

    Without a stamp, return the time in the field ``when``. torchrun's failure summary has such a field:
    ``2024-08-28_03:15:54``.
    """
    time = record.source.time
    if time is not None:
        return time
    when = record.fields.get("when")
    if not isinstance(when, str):
        return None
    try:
        told = datetime.fromisoformat(when.replace("_", " "))
    except ValueError:
        return None
    return (told if told.tzinfo else told.replace(tzinfo=timezone.utc)).timestamp()


def nearest_year(moment: float, other: float) -> float:
    """Move a stamp without a year into the year in which it is nearest to ``other``."""
    if not 0 <= moment < A_YEAR <= other:
        return moment
    try:
        year = datetime.fromtimestamp(other, timezone.utc).year
        parts = datetime.fromtimestamp(moment, timezone.utc)
        days = 28 if (parts.month, parts.day) == (2, 29) else parts.day
        years = (parts.replace(year=y, day=days).timestamp() for y in (year - 1, year, year + 1))
        return min(years, key=lambda t: abs(t - other))
    except (ValueError, OverflowError, OSError):  # a stamp far beyond the calendar
        return moment


class Clocks:
    """Differences between the clocks of hosts.

    They are measured by records that several hosts print at once. Such records are: a step of all ranks, the timeout of
    a collective, the dump signal of the first rank that gave up, the end of a barrier, the end of a communicator's
    start, a signal to all agents.
    """

    READS = ("works", *SHARED)

    def __init__(self, host_of: Callable[[Record], str | None]) -> None:
        self._host_of = host_of
        self._shared: dict[Key, dict[str, float]] = {}
        self._steps = 0
        self._offsets: tuple[HostClock, ...] | None = None

    def observe(self, record: Record) -> None:
        """Note the time of a shared record."""
        host = self._host_of(record) if record.time is not None else None
        key = _shared_key(record) if host else None
        if key is None or host is None or record.time is None:
            return
        times = self._shared.get(key)
        if times is None:
            step = record.has("works")
            if (self._steps if step else len(self._shared) - self._steps) >= MAX_SHARED:
                return
            self._steps += step
            times = self._shared[key] = {}
        if host in times or len(times) < MAX_HOSTS:
            times[host] = min(record.time, times.get(host, record.time))
            self._offsets = None

    def offsets(self) -> tuple[HostClock, ...]:
        """Return how far each clock is ahead of the reference host.

        The reference is the host with most shared records. Hosts without enough agreeing records are left out.
        """
        if self._offsets is None:
            self._offsets = tuple(self._compare())
        return self._offsets

    def _compare(self) -> Iterator[HostClock]:
        shared = [times for times in self._shared.values() if len(times) > 1]
        counts = Counter(host for times in shared for host in times)
        if not counts:
            return
        reference = min(counts, key=lambda host: (-counts[host], host))
        for host in sorted(counts.keys() - {reference}):
            pairs = [(t[host], t[reference]) for t in shared if host in t and reference in t]
            apart = [nearest_year(time, base) - nearest_year(base, time) for time, base in pairs]
            if len(apart) < FEWEST_SHARED:
                continue
            ahead = middle(apart)
            agreeing = sum(abs(a - ahead) <= max(JITTER, abs(ahead) * DRIFT) for a in apart)
            if agreeing >= max(FEWEST_SHARED, len(apart) * MOST_AGREE):
                yield HostClock(host, reference, ahead, len(apart))

    def seconds(
        self, earlier: Record, later: Record, hosts: tuple[str | None, str | None]
    ) -> tuple[float | None, float]:
        """Return the seconds between two records, and the possible error.

        ``hosts`` printed the earlier and the later record.
        """
        apart = elapsed(earlier, later)
        first, second = hosts
        if first is not None and first == second:
            return apart, 0.0
        ahead = {name: seconds for c in self.offsets() for name, seconds in ((c.of, 0.0), (c.host, c.ahead))}
        if apart is None or first not in ahead or second not in ahead:
            return apart, SKEW
        return apart - ahead[second] + ahead[first], JITTER


def middle(numbers: Sequence[float]) -> float:
    """Return the median.

    Importing `statistics` takes as long as reading a small log.
    """
    ordered, half = sorted(numbers), len(numbers) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _shared_key(record: Record) -> Key | None:
    """Return a key of a record that all hosts print at once.

    Return None for any other record.
    """
    fields = record.fields
    if record.has("works"):
        value = fields.get("value")
        return ("works", fields.get("unit"), fields.get("epoch"), value) if isinstance(value, int) else None
    names = SHARED.get(record.kind)
    if names is None or (record.tells("member") and fields.get("phase") != "COMPLETE"):
        return None
    values = tuple(fields.get(name) for name in names)
    return None if None in values else (record.kind, *values)

"""Figures of a fleet report, counted from the records of scans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from logdoctor.archive.bad_hosts import BadHost, HostCounter, blamed_hosts
from logdoctor.archive.checkpoint_log import CheckpointLog
from logdoctor.archive.record import JobRecord, day_of, end_time
from logdoctor.model import InputError
from logdoctor.redaction import redact_secrets

FAILED = ("failed", "unknown")
"""Verdicts of jobs that failed.  A job that was stopped from outside did not."""
MAX_JOBS_LISTED = 100
"""Job names that a tally keeps.  Its count includes all jobs."""
MAX_TALLIES = 5000
"""Names that are counted per table of tallies; a fleet has hundreds."""
MAX_SLOWEST = 25
MAX_QUOTE = 300
MAX_PERIODS = 400
FEW_PERIODS = 45
"""A fleet of at most so many days is shown by day, of at most so many weeks by week, else by month."""
Period = Literal["day", "week", "month"]


class ListedJob(Struct, frozen=True):
    """A job in a list of the page. Start and end are in seconds since 1970, None if its logs do not tell both."""

    decision: str = ""
    id: str = ""
    started: float | None = None
    ended: float | None = None


class Tally(Struct):
    """Count of jobs with a common name, for example one cause.

    ``hours`` are the GPU-hours of ``timed_jobs`` jobs.  The logs of these jobs give ranks, start and end.
    """

    name: str
    count: int = 0
    jobs: dict[str, ListedJob] = field(default_factory=dict)
    hours: float = 0.0
    timed_jobs: int = 0
    title: str = ""
    decisions: Counter[str] = field(default_factory=Counter)
    signature: str = ""
    first: float | None = None
    last: float | None = None
    hosts: Counter[str] = field(default_factory=Counter)
    """Hosts that are to blame."""
    places: Counter[str] = field(default_factory=Counter)
    """Hosts where it was seen."""
    proof_position: str = ""
    """File and line number of the decisive line of the first such job."""
    proof: str = ""
    why: str = ""
    """Reason why the first such job could not be diagnosed."""

    def add(self, record: JobRecord) -> None:
        self.count += 1
        if len(self.jobs) < MAX_JOBS_LISTED:
            self.jobs[record.job] = _listed(record)
        hours = gpu_hours(record)
        if hours is not None:
            self.hours, self.timed_jobs = self.hours + hours, self.timed_jobs + 1
        ended = end_time(record)
        self.first = ended if self.first is None else min(self.first, ended)
        self.last = ended if self.last is None else max(self.last, ended)
        self.hosts.update(blamed_hosts(record))
        self.places.update(record.place_hosts)
        self.decisions[record.decision] += 1
        self.title = self.title or record.title
        self.signature = self.signature or record.signature
        if record.proof and not self.proof:
            self.proof_position = f"{record.proof_file}:{record.proof_line}"
            self.proof = redact_secrets(record.proof)[:MAX_QUOTE]
        if not self.why:
            self.why = next((f"{p.what}: {p.why}" for p in record.problems), "")[:MAX_QUOTE]


class Fleet(Struct, frozen=True):
    """Figures of a fleet report.  Lists of tallies are sorted by count, the largest first."""

    jobs: int
    verdicts: dict[str, Tally]
    causes: list[Tally]
    periods: list[tuple[str, dict[str, int]]]
    """Failed jobs per cause, for each period in order."""
    period: Period
    failed_in: dict[str, dict[str, ListedJob]]
    """The first failed jobs of each period."""
    diagnosed_in: dict[str, int]
    """Number of diagnosed jobs of each period."""
    span: tuple[float, float] | None
    """End of the first and of the last job."""
    hosts: list[Tally]
    """Hosts that are to blame."""
    places: list[Tally]
    """Hosts where a failure was seen that is nobody's there."""
    gpus: list[Tally]
    peers: list[Tally]
    bad_hosts: list[BadHost]
    recurring: list[Tally]
    """Failures that several jobs have in common, by fingerprint."""
    new: list[Tally]
    """Causes that first occurred at or after ``new_since``."""
    new_since: float | None
    unexplained: list[Tally]
    """Templates of lines that no rule explains: a worklist for authors of rules."""
    slowest: list[tuple[JobRecord, float]]
    """Failed jobs that ran longest, with their hours."""
    broken: dict[str, Tally]
    """Jobs that could not be diagnosed, by status."""
    restarted: Tally
    """Jobs with several attempts."""
    decisions: dict[str, Tally]
    """Failed jobs with several attempts, by the recommended decision."""


def _listed(record: JobRecord) -> ListedJob:
    return ListedJob(record.decision, record.job_id, record.started, record.ended)


def gpu_hours(record: JobRecord) -> float | None:
    """Return ranks times hours, or None if the logs lack either."""
    if not record.size or record.started is None or record.ended is None:
        return None
    return record.size * max(0.0, record.ended - record.started) / 3600


def read_records(folders: Sequence[Path]) -> Iterator[JobRecord]:
    """Read the records of all scans in ``folders``.

    If several scans have the same job, the record of the last folder counts.  Raises `InputError` for a folder without
    records.
    """
    logs = [CheckpointLog(folder) for folder in folders]
    for log in logs:
        if not log.locations:
            why, cure = "there are no results of a scan", "logdoctor scan ARCHIVE --out FOLDER"
            raise InputError("no report can be made", str(log.folder), why, cure)
    last_log = {job: number for number, log in enumerate(logs) for job in log.locations}
    for number, log in enumerate(logs):
        yield from (record for record in log.records() if last_log[record.job] == number)


def records_between(records: Iterable[JobRecord], first: float | None, last: float | None) -> Iterator[JobRecord]:
    """Yield the records of the jobs that ended at or after ``first``, and before ``last``."""
    for record in records:
        ended = end_time(record)
        if (first is None or ended >= first) and (last is None or ended < last):
            yield record


def count_records(
    records: Iterable[JobRecord], period: Period | None = "week", new_since: float | None = None
) -> Fleet:
    """Count all records in one pass with bounded memory.

    If ``period`` is None, take the shortest period that gives about `FEW_PERIODS` periods or fewer.
    """
    counter = _FleetCounter()
    for record in records:
        counter.add(record)
    return counter.fleet(period, new_since)


class _FleetCounter:
    def __init__(self) -> None:
        self._jobs = 0
        self._diagnosed_on: Counter[str] = Counter()
        self._span: tuple[float, float] | None = None
        self._tallies: dict[str, dict[str, Tally]] = {}
        self._causes_on: dict[str, Counter[str]] = {}
        self._failed_on: dict[str, dict[str, ListedJob]] = {}
        self._hosts = HostCounter()
        self._slowest: list[tuple[float, str, JobRecord]] = []

    def add(self, record: JobRecord) -> None:
        self._jobs += 1
        if record.status != "diagnosed":
            self._count("broken", record.status, record)
            return
        self._hosts.add(record)
        ended = end_time(record)
        self._span = (ended, ended) if self._span is None else (min(self._span[0], ended), max(self._span[1], ended))
        self._diagnosed_on[day_of(ended)] += 1
        self._count("verdicts", record.verdict, record)
        if record.attempts > 1:
            self._count("restarted", "", record)
        if record.verdict not in FAILED:
            return
        self._count("causes", record.signature, record)
        self._causes_on.setdefault(day_of(ended), Counter())[record.signature] += 1
        failed = self._failed_on.setdefault(day_of(ended), {})
        if len(failed) < MAX_JOBS_LISTED:
            failed[record.job] = _listed(record)
        if record.attempts > 1:
            self._count("decisions", record.decision, record)
        if record.fingerprint:
            self._count("recurring", record.fingerprint, record)
        blamed = blamed_hosts(record)
        tables = {
            "hosts": blamed,
            "places": tuple(host for host in (*record.hosts, *record.place_hosts) if host not in blamed),
            "gpus": _gpus(record),
            "unexplained": record.templates,
        }
        for table, names in tables.items():
            for name in dict.fromkeys(names):
                self._count(table, name, record)
        peers = (peer for cause in record.causes[:1] for peer in cause.peers)
        for peer in dict.fromkeys(map(_address, peers)):
            self._count("peers", peer, record)
        self._add_slow(record)

    def _count(self, table: str, name: str, record: JobRecord) -> None:
        tallies = self._tallies.setdefault(table, {})
        if name in tallies or len(tallies) < MAX_TALLIES:
            tallies.setdefault(name, Tally(name)).add(record)

    def _add_slow(self, record: JobRecord) -> None:
        if record.started is not None and record.ended is not None:
            self._slowest.append((-max(0.0, record.ended - record.started), record.job, record))
            if len(self._slowest) > 4 * MAX_SLOWEST:
                self._slowest = self._sorted_slowest()

    def _sorted_slowest(self) -> list[tuple[float, str, JobRecord]]:
        return sorted(self._slowest, key=lambda item: item[:2])[:MAX_SLOWEST]

    def fleet(self, period: Period | None, new_since: float | None) -> Fleet:
        causes = self._sorted("causes")
        period = period or _fitting_period(self._causes_on)
        periods = _fill_gaps(_sum_by_period(self._causes_on, period), period)
        diagnosed = _sum_by_period({day: Counter({"": count}) for day, count in self._diagnosed_on.items()}, period)
        return Fleet(
            jobs=self._jobs,
            verdicts=self._tallies.get("verdicts", {}),
            causes=causes,
            periods=[(name, dict(counts)) for name, counts in periods],
            period=period,
            failed_in=self._failed_in(period),
            diagnosed_in={name: counts[""] for name, counts in diagnosed.items()},
            span=self._span,
            hosts=self._sorted("hosts"),
            places=self._sorted("places"),
            gpus=self._sorted("gpus"),
            peers=self._sorted("peers"),
            bad_hosts=self._hosts.bad_hosts(),
            recurring=[t for t in self._sorted("recurring") if t.count > 1],
            new=[t for t in causes if new_since is not None and t.first is not None and t.first >= new_since],
            new_since=new_since,
            unexplained=self._sorted("unexplained"),
            slowest=[(record, -negative / 3600) for negative, _, record in self._sorted_slowest()],
            broken=self._tallies.get("broken", {}),
            restarted=self._tallies.get("restarted", {}).get("", Tally("")),
            decisions=self._tallies.get("decisions", {}),
        )

    def _failed_in(self, period: Period) -> dict[str, dict[str, ListedJob]]:
        failed: dict[str, dict[str, ListedJob]] = {}
        for day in sorted(self._failed_on):
            failed.setdefault(_period_name(day, period), {}).update(self._failed_on[day])
        return {name: dict(islice(jobs.items(), MAX_JOBS_LISTED)) for name, jobs in failed.items()}

    def _sorted(self, table: str) -> list[Tally]:
        return sorted(self._tallies.get(table, {}).values(), key=lambda t: (-t.count, t.name))


def _gpus(record: JobRecord) -> tuple[str, ...]:
    """Return the culprit GPUs, with the host if only one is named.

    The host is needed because all hosts have the same bus ids.  ``0000:c3:00`` of host ``n1`` gives ``n1 0000:c3:00``.
    """
    if len(record.hosts) != 1:
        return record.gpus
    return tuple(gpu if record.hosts[0] in gpu else f"{record.hosts[0]} {gpu}" for gpu in record.gpus)


def _address(peer: str) -> str:
    """Return the address without the port: ``10.0.0.7`` for ``10.0.0.7:4431`` and ``10.0.0.7<4431>``."""
    host = peer.partition("<")[0]
    return host.rpartition(":")[0] or host


def _sum_by_period(days: dict[str, Counter[str]], period: Period) -> dict[str, Counter[str]]:
    """Add up the counts of all days of each period."""
    sums: dict[str, Counter[str]] = {}
    for day, counts in days.items():
        sums.setdefault(_period_name(day, period), Counter()).update(counts)
    return sums


def place_of(day: str, period: Period) -> int:
    """Return the number of the period of a day (or of the day after which it is named), counted from the year 1."""
    if period == "month":
        first = date.fromisoformat(f"{day[:7]}-01")
        return first.year * 12 + first.month - 1
    number = date.fromisoformat(day).toordinal() - 1  # the first of them is a Monday
    return number if period == "day" else number // 7


def _name_of(place: int, period: Period) -> str:
    """Return the name of a period. A week is named after its Monday, a month is ``2026-11``."""
    if period == "month":
        return f"{place // 12:04}-{place % 12 + 1:02}"
    return str(date.fromordinal((place if period == "day" else 7 * place) + 1))


def _period_name(day: str, period: Period) -> str:
    return day and _name_of(place_of(day, period), period)


def _fitting_period(days: Iterable[str]) -> Period:
    dates = [date.fromisoformat(day) for day in days if day]
    span = (max(dates) - min(dates)).days if dates else 0
    return "day" if span <= FEW_PERIODS else "week" if span <= 7 * FEW_PERIODS else "month"


def _fill_gaps(sums: dict[str, Counter[str]], period: Period) -> list[tuple[str, Counter[str]]]:
    """Sort the periods and add those without failures.

    No periods are added if there would be more than `MAX_PERIODS`.
    """
    names = sorted(name for name in sums if name)
    places = [place_of(name, period) for name in names]
    if names and places[-1] - places[0] <= MAX_PERIODS:
        names = [_name_of(place, period) for place in range(places[0], places[-1] + 1)]
    return [(name, sums.get(name, Counter())) for name in names]

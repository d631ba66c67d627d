"""The numbers of a fleet: causes over time and what they cost, who was culprit, what comes again, what is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from logdoctor.model import InputError
from logdoctor.redaction import without_secrets
from logdoctor.scan.bad_hosts import Exposure, Lemon
from logdoctor.scan.checkpoint_log import Journal
from logdoctor.scan.record import JobRecord

JOBS_NAMED = 100
"""So many jobs are named behind a number; the number itself counts all."""
KINDS_KEPT = 5000
"""So many different failures, templates, hosts are told apart; a fleet has hundreds."""
SHOWN = 25
Period = Literal["day", "week", "month"]
QUOTED = 300


class Tally(Struct):
    """How often something was, in which jobs, and what it cost.

    ``hours`` are GPU-hours of the ``timed`` jobs whose logs tell how many ranks they had and from when to when.
    """

    name: str
    count: int = 0
    jobs: list[str] = field(default_factory=list)
    hours: float = 0.0
    timed: int = 0
    title: str = ""
    action: str = ""
    signature: str = ""
    first: float | None = None
    last: float | None = None
    hosts: Counter[str] = field(default_factory=Counter)
    place: str = ""
    """Where the first of the jobs has its decisive line, and the line."""
    proof: str = ""
    why: str = ""
    """Of a job that could not be diagnosed."""

    def add(self, record: JobRecord) -> None:
        """Count one job."""
        self.count += 1
        if len(self.jobs) < JOBS_NAMED:
            self.jobs.append(record.job)
        hours = gpu_hours(record)
        if hours is not None:
            self.hours, self.timed = self.hours + hours, self.timed + 1
        when = time_of(record)
        self.first = when if self.first is None else min(self.first, when)
        self.last = when if self.last is None else max(self.last, when)
        self.hosts.update(record.hosts)
        self.title, self.action = self.title or record.title, self.action or record.action
        self.signature = self.signature or record.signature
        if record.proof and not self.proof:
            self.place, self.proof = f"{record.proof_file}:{record.proof_line}", without_secrets(record.proof)[:QUOTED]
        if not self.why:
            self.why = next((f"{p.what}: {p.why}" for p in record.problems), "")[:QUOTED]


class Fleet(Struct, frozen=True):
    """What a fleet report tells.  Tallies are sorted, the most frequent first."""

    jobs: int
    verdicts: dict[str, Tally]
    causes: list[Tally]
    periods: list[tuple[str, dict[str, int]]]
    """For each period, in order, how many jobs failed for each cause."""
    period: Period
    failed_in: dict[str, list[str]]
    """For each period, the first jobs that failed."""
    seen: dict[str, int]
    """For each period, how many jobs were diagnosed."""
    span: tuple[float, float] | None
    """When the first and the last job ended."""
    hosts: list[Tally]
    gpus: list[Tally]
    peers: list[Tally]
    lemons: list[Lemon]
    again: list[Tally]
    """Failures that came more than once in the same way; ``name`` is the fingerprint."""
    new: list[Tally]
    """Causes that were not there before ``new_since``."""
    new_since: float | None
    unexplained: list[Tally]
    """Lines that no rule explains, without what changes from run to run: the worklist."""
    slowest: list[tuple[JobRecord, float]]
    """The failed jobs that ran longest, with their hours."""
    broken: dict[str, Tally]
    restarted: Tally
    """Jobs of several attempts."""
    decisions: dict[str, Tally]
    """What the failed ones among them were told to do."""


def time_of(record: JobRecord) -> float:
    """When a job ended, as its logs tell, else when they were last written."""
    return record.ended if record.ended is not None and record.ended > 0 else record.changed


def gpu_hours(record: JobRecord) -> float | None:
    """Ranks times hours, where the logs tell both."""
    if not record.size or record.started is None or record.ended is None:
        return None
    return record.size * max(0.0, record.ended - record.started) / 3600


def records_of(folders: Sequence[Path]) -> Iterator[JobRecord]:
    """The records of all jobs in the folders of scans; of a job that is in several the last folder's counts.

    Raises `InputError` for a folder without results.
    """
    journals = [Journal(folder) for folder in folders]
    for journal in journals:
        if not journal.places:
            why, cure = "there are no results of a scan", "logdoctor scan ARCHIVE --out FOLDER"
            raise InputError("no report can be made", str(journal.folder), why, cure)
    last = {job: number for number, journal in enumerate(journals) for job in journal.places}
    for number, journal in enumerate(journals):
        yield from (record for record in journal.records() if last[record.job] == number)


def fleet_of(records: Iterable[JobRecord], period: Period | None = "week", new_since: float | None = None) -> Fleet:
    """Count all records, in one pass and bounded memory.  No ``period``: the shortest that gives few enough of them."""
    counted = _Counted()
    for record in records:
        counted.add(record)
    return counted.fleet(period, new_since)


class _Counted:
    def __init__(self) -> None:
        self._jobs = 0
        self._seen: Counter[str] = Counter()
        self._span: tuple[float, float] | None = None
        self._tallies: dict[str, dict[str, Tally]] = {}
        self._days: dict[str, Counter[str]] = {}
        self._failed_on: dict[str, list[str]] = {}
        self._exposure = Exposure()
        self._slowest: list[tuple[float, str, JobRecord]] = []

    def add(self, record: JobRecord) -> None:
        self._jobs += 1
        if record.status != "diagnosed":
            self._count("broken", record.status, record)
            return
        self._exposure.add(record)
        when = time_of(record)
        self._span = (when, when) if self._span is None else (min(self._span[0], when), max(self._span[1], when))
        self._seen[_day(when)] += 1
        self._count("verdicts", record.verdict, record)
        if record.attempts > 1:
            self._count("restarted", "", record)
        if record.verdict == "healthy":
            return
        self._count("causes", record.signature, record)
        self._days.setdefault(_day(when), Counter())[record.signature] += 1
        on_the_day = self._failed_on.setdefault(_day(when), [])
        if len(on_the_day) < JOBS_NAMED:
            on_the_day.append(record.job)
        if record.attempts > 1:
            self._count("decisions", record.decision, record)
        if record.fingerprint:
            self._count("again", record.fingerprint, record)
        for place, names in (("hosts", record.hosts), ("gpus", _placed(record)), ("unexplained", record.templates)):
            for name in dict.fromkeys(names):
                self._count(place, name, record)
        peers = (peer for cause in record.causes[:1] for peer in cause.peers)
        for peer in dict.fromkeys(map(_address, peers)):
            self._count("peers", peer, record)
        self._note_slow(record)

    def _count(self, place: str, name: str, record: JobRecord) -> None:
        tallies = self._tallies.setdefault(place, {})
        if name in tallies or len(tallies) < KINDS_KEPT:
            tallies.setdefault(name, Tally(name)).add(record)

    def _note_slow(self, record: JobRecord) -> None:
        if record.started is not None and record.ended is not None:
            self._slowest.append((-max(0.0, record.ended - record.started), record.job, record))
            if len(self._slowest) > 4 * SHOWN:
                self._slowest = sorted(self._slowest, key=lambda one: one[:2])[:SHOWN]

    def fleet(self, period: Period | None, new_since: float | None) -> Fleet:
        causes = self._sorted("causes")
        period = period or _fitting(self._days)
        periods = _without_gaps(_by(self._days, period), period)
        seen = _by({day: Counter({"": count}) for day, count in self._seen.items()}, period)
        return Fleet(
            jobs=self._jobs,
            verdicts=self._tallies.get("verdicts", {}),
            causes=causes,
            periods=[(name, dict(counts)) for name, counts in periods],
            period=period,
            failed_in=self._failed_in(period),
            seen={name: counts[""] for name, counts in seen.items()},
            span=self._span,
            hosts=self._sorted("hosts"),
            gpus=self._sorted("gpus"),
            peers=self._sorted("peers"),
            lemons=self._exposure.lemons(),
            again=[t for t in self._sorted("again") if t.count > 1],
            new=[t for t in causes if new_since is not None and t.first is not None and t.first >= new_since],
            new_since=new_since,
            unexplained=self._sorted("unexplained"),
            slowest=[(r, -over / 3600) for over, _, r in sorted(self._slowest, key=lambda one: one[:2])[:SHOWN]],
            broken=self._tallies.get("broken", {}),
            restarted=self._tallies.get("restarted", {}).get("", Tally("")),
            decisions=self._tallies.get("decisions", {}),
        )

    def _failed_in(self, period: Period) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for day in sorted(self._failed_on):
            found.setdefault(_named(day, period), []).extend(self._failed_on[day])
        return {name: jobs[:JOBS_NAMED] for name, jobs in found.items()}

    def _sorted(self, place: str) -> list[Tally]:
        return sorted(self._tallies.get(place, {}).values(), key=lambda t: (-t.count, t.name))


def _placed(record: JobRecord) -> tuple[str, ...]:
    """The GPUs that a job names; one that is known by its bus only is another one on each host."""
    if len(record.hosts) != 1:
        return record.gpus
    return tuple(gpu if record.hosts[0] in gpu else f"{record.hosts[0]} {gpu}" for gpu in record.gpus)


def _address(peer: str) -> str:
    """``10.0.0.7`` of ``10.0.0.7:4431`` and ``10.0.0.7<4431>``."""
    host = peer.partition("<")[0]
    return host.rpartition(":")[0] or host


def _day(seconds: float) -> str:
    """``2026-11-16``; nothing for what is no date."""
    try:
        return str(datetime.fromtimestamp(seconds, timezone.utc).date())
    except (ValueError, OverflowError, OSError):
        return ""


def _by(days: dict[str, Counter[str]], period: Period) -> dict[str, Counter[str]]:
    """The counts of all days of a period together; a week is named by its Monday, a month ``2026-11``."""
    found: dict[str, Counter[str]] = {}
    for name, counts in days.items():
        found.setdefault(_named(name, period), Counter()).update(counts)
    return found


def _named(name: str, period: Period) -> str:
    if not name or period == "day":
        return name
    day = date.fromisoformat(name)
    return name[:7] if period == "month" else str(day - timedelta(days=min(day.weekday(), (day - date.min).days)))


def _fitting(days: Iterable[str]) -> Period:
    named = [date.fromisoformat(name) for name in days if name]
    span = (max(named) - min(named)).days if named else 0
    return "day" if span <= FEW_PERIODS else "week" if span <= 7 * FEW_PERIODS else "month"


MOST_PERIODS = 400
FEW_PERIODS = 45


def _without_gaps(found: dict[str, Counter[str]], period: Period) -> list[tuple[str, Counter[str]]]:
    """The periods in order; those without a failure too, as long as it is not too many."""
    named = sorted(name for name in found if name)
    if period == "month" or len(named) < 2:
        return [(name, found[name]) for name in named]
    step = timedelta(days=7 if period == "week" else 1)
    first, last = (datetime.fromisoformat(name).date() for name in (named[0], named[-1]))
    if (last - first) / step > MOST_PERIODS:
        return [(name, found[name]) for name in named]
    names = [str(first + n * step) for n in range((last - first) // step + 1)]
    return [(name, found.get(name, Counter())) for name in names]

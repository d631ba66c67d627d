"""Records of the machines and the accounting, judged when the job's number, time and hosts are known.

A kernel log or a journal holds weeks of all jobs of a host, and the accounting many jobs. A line from another day, of
a host that is none of the job's, or of another job is no evidence for this job. So these records wait until all other
records were read.

    job.log     2026-03-14 10:00:02 ... 2026-03-14 10:41:17
    dmesg.txt   [Mon Mar  2 09:12:44 2026] NVRM: Xid ... 79     set aside: 12 days before the job
    dmesg.txt   [Sat Mar 14 10:40:58 2026] NVRM: Xid ... 79     judged
    sacct.json  JobId=4709 OUT_OF_MEMORY                        set aside: this is job 4711

A job that prints no times has those at which the cluster saw its containers begin and end. Times since boot decide
nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import NotJudged, Record
from logdoctor.model.catalogue import Catalogue
from logdoctor.model.coverage import MAX_NOT_JUDGED
from logdoctor.pack.regexes import later
from logdoctor.reasoning.identity.addresses import is_address, short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import MAX_FILES, is_of_cluster, is_of_machine
from logdoctor.reasoning.lifecycle.clocks import A_YEAR, moment, nearest_year
from logdoctor.reasoning.processes import Processes

MAX_HELD = 16384
"""Records that wait. If there are more, they are judged by what is known so far."""
HOUR, DAY = 3600.0, 86400.0
NEAR = HOUR
"""Seconds from the first or to the last time of the job in which a record is evidence."""
NEAR_UNKNOWN = DAY
"""The same where the job goes on without times: its lines above the first or below the last time have none."""
LARGEST_ZONE, ZONE_STEP, ZONE_JITTER = 14 * HOUR, HOUR / 2, 60.0
"""Clocks of a host and of a container on it may differ by a time zone."""
_DAEMONS = (
    *("kernel", "systemd", "sshd", "cron", "CRON", "dbus", "NetworkManager", "rsyslog", "chronyd", "ntpd", "polkit"),
    *("snapd", "audit", "sudo", "su", "dhclient", "irqbalance", "postfix", "slurmd", "slurmctld", "kubelet", "docker"),
    *("containerd", "nvidia-", "nv-", "dcgm", "mcelog", "rasdaemon", "smartd", "multipathd", "ipmi", "abrt", "sssd"),
)
"""First letters of the programs of syslog and the journal that serve the machine and not a job."""


_WRITERS = {"kernel": "kernel", "slurm": "accounting"}
_DIGITS = later(r"\d+")
_Why = tuple[str, str]
"""Reason against a record: its key in the words, and the host or number in the text."""


class MachineRecords:
    """Records of machines that wait for the end of the other records."""

    def __init__(self) -> None:
        self._held: list[Record] = []
        self._node: dict[str, str] = {}
        """Node of the pod that each file describes at this place, as ``kubectl describe`` prints it."""
        self._has_time: dict[str, bool] = {}
        """True for a file if its last record of the job has a time."""
        self._begins_untimed = False
        """True if the job printed records without a time in a file before any with one."""
        self._first_failure: float | None = None
        self._jobs = set[str]()
        """Numbers by which the job's own lines name it."""
        self._set_aside: dict[tuple[str, str, _Why], NotJudged] = {}

    def hold(self, record: Record) -> bool:
        """Keep a record of a machine or of the accounting, and return True. Return False for a record of the job."""
        if record.tells("object"):
            self._node.pop(record.line.file, None)
        if is_of_machine(record) or (record.source.logger or "").startswith(_DAEMONS) or _is_of_accounting(record):
            self._held.append(self._on_its_node(record) if is_of_cluster(record) else record)
            return True
        if (job := _job_of(record)) and len(self._jobs) < MAX_FILES:
            self._jobs.add(job)
        if record.line.file in self._has_time or len(self._has_time) < MAX_FILES:
            self._begins_untimed |= record.time is None and record.line.file not in self._has_time
            self._has_time[record.line.file] = record.time is not None
        if record.failing and self._first_failure is None:
            self._first_failure = record.time
        return False

    def _on_its_node(self, record: Record) -> Record:
        """Return a record of a described pod with the node that stands above, in the head of the description."""
        if record.tells("node") and record.host and len(self._node) < MAX_FILES:
            self._node[record.line.file] = record.host
        node = self._node.get(record.line.file) if record.host is None else None
        return replace(record, source=replace(record.source, host=node)) if node else record

    @property
    def is_full(self) -> bool:
        return len(self._held) >= MAX_HELD

    def release(self, state: JobState) -> Iterator[Record]:
        """Yield the waiting records that belong to the job, in reading order. Set the others aside."""
        held, self._held = [*_with_hosts(self._held, state.processes.hosts)], []
        jobs = _Jobs.of(self._jobs | ({state.job_id} if state.job_id else set()), held, alone=not self._has_time)
        scope = _Scope(
            tuple(state.lives.times.values()) or _times_in_cluster(held),
            self._first_failure,
            NEAR_UNKNOWN if self._begins_untimed else NEAR,
            NEAR if all(self._has_time.values()) else NEAR_UNKNOWN,
            _all_hosts(state.processes),
        )
        zones = {record.line.file: scope.zone_of(record) for record in held if record.failing}
        for record in held:
            why = jobs.reason_against(record) or scope.reason_against(record, zones.get(record.line.file, 0.0))
            if why:
                self._note(record, why)
            else:
                yield record

    def _note(self, record: Record, why: _Why) -> None:
        what = f"set-aside.{_WRITERS.get(record.format.partition('_')[0], 'machine')}"
        key, line = (record.line.file, what, why), record.line.number
        before = self._set_aside.get(key)
        if before is not None:
            first, last = min(before.first_line, line), max(before.last_line, line)
            self._set_aside[key] = replace(before, first_line=first, last_line=last, records=before.records + 1)
        elif len(self._set_aside) < MAX_NOT_JUDGED:
            self._set_aside[key] = NotJudged(record.line.file, line, line, 1, what, why[0])

    def tell_set_aside(self, words: Catalogue) -> tuple[NotJudged, ...]:
        """Return the lines that were set aside, with the reasons as sentences."""
        return tuple(
            replace(lines, what=words(what), why=words(key, value=value))
            for (_, what, (key, value)), lines in self._set_aside.items()
        )


def _times_in_cluster(records: Sequence[Record]) -> tuple[tuple[float, float], ...]:
    """Return the times at which the cluster saw the job's objects, those within a day as one span.

    A span has no end if an object goes on. Without a failure there the cluster tells nothing of the job that failed.
    """
    told = [(time, record) for record in records if is_of_cluster(record) and (time := moment(record))]
    if not any(record.failing for _, record in told):
        return ()
    spans = list[tuple[float, float]]()
    for time, record in sorted(told, key=lambda pair: pair[0]):
        end = math.inf if record.tells("goes on") else time
        if spans and time - spans[-1][1] <= DAY:
            spans[-1] = spans[-1][0], max(spans[-1][1], end)
        else:
            spans.append((time, end))
    return tuple(spans)


def _with_hosts(records: Iterable[Record], hosts: Iterable[str]) -> Iterator[Record]:
    """Yield the records. Those without a host have the one of the job's hosts that their file is named after."""
    names = [host for host in hosts if not is_address(host)]
    named = cache(lambda file: _named_host(file, names))
    for record in records:
        host = named(record.line.file) if record.host is None and is_of_machine(record) else None
        yield replace(record, source=replace(record.source, host=host)) if host else record


def _named_host(file: str, hosts: Iterable[str]) -> str | None:
    """Return the one of the job's hosts that the name of the file or its folder holds, as ``kern-node03.log``."""
    name = "/".join(file.rpartition(":")[2].split("/")[-2:])
    named = [host for host in hosts if re.search(rf"(?<!\w)(?<!\d-){re.escape(short_host(host))}(?!-?\w)", name)]
    return named[0] if len(named) == 1 else None


def _is_of_accounting(record: Record) -> bool:
    """Return whether the batch system tells afterwards how a job ended, as sacct does."""
    return "step" in record.fields and any(sign.reporter == "batch" and sign.late for sign in record.signs)


def _job_of(record: Record) -> str:
    """Return the number of the batch job that the record names, "" for none: ``4711`` for ``4711.batch``."""
    is_of_batch = any(sign.reporter == "batch" for sign in record.signs)
    step = str(record.fields.get("step") or "") if is_of_batch else ""
    return step.partition(".")[0].partition("+")[0]


class _Jobs(Struct, frozen=True):
    """The number of the batch job that this one is, as far as it is known."""

    own: frozenset[str]
    others: int
    """Number of jobs among which this one is, if nothing says which, else 0."""

    @classmethod
    def of(cls, own: Collection[str], held: Sequence[Record], *, alone: bool) -> _Jobs:
        """``alone``: there is nothing but the accounting, so the first job in it that failed is meant."""
        told = dict.fromkeys(job for record in held if (job := _job_of(record)))
        if own or len(told) < 2:
            return cls(frozenset(own), 0)
        if not alone:
            return cls(frozenset(), len(told))
        failed = (job for record in held if record.failing and (job := _job_of(record)))
        return cls(frozenset({next(failed, next(iter(told)))}), 0)

    def reason_against(self, record: Record) -> _Why | None:
        """Return why the record tells of another job, if it does. A task of an array has two numbers."""
        job = _job_of(record)
        if not job:
            return None
        if self.others:
            return "set-aside.jobs", str(self.others)
        own = {name for name in self.own if ("_" in name) == ("_" in job)}
        return ("set-aside.job", job) if own and job not in own else None


class _Scope(Struct, frozen=True):
    """Time and hosts of the job."""

    ranges: tuple[tuple[float, float], ...]
    first_failure: float | None
    before: float
    """Seconds before its first time in which a record is evidence."""
    behind: float
    hosts: frozenset[str]

    def zone_of(self, record: Record) -> float:
        """Return the seconds to add to the times of a file, if its clock is in another time zone than the job's.

        That is so if the last failure in the file is a whole number of half hours from the job's first failure.
        """
        if record.time is None or self.first_failure is None:
            return 0.0
        apart = self.first_failure - nearest_year(record.time, self.first_failure)
        zone = round(apart / ZONE_STEP) * ZONE_STEP
        return zone if abs(zone) <= LARGEST_ZONE and abs(apart - zone) <= ZONE_JITTER else 0.0

    def reason_against(self, record: Record, zone: float) -> _Why | None:
        """Return why the record is no evidence for the job, if it is none."""
        host = short_host(record.host or "")
        if (
            self.hosts
            and host
            and not is_address(host)
            and host not in self.hosts
            and _shape(host) in map(_shape, self.hosts)
        ):
            return "set-aside.host", host
        if record.time is None or not self.ranges:
            return None
        seconds = min((_apart(record.time, first, last) for first, last in self.ranges), key=abs)
        near = self.before if seconds < 0 else self.behind
        if abs(seconds) <= near or abs(seconds + zone) <= near:
            return None
        unit, seconds_each = ("day", DAY) if abs(seconds) >= DAY else ("hour", HOUR)
        count = int(abs(seconds) // seconds_each)
        return f"set-aside.{unit}.{'before' if seconds < 0 else 'after'}.{'1' if count == 1 else 'n'}", str(count)


def _all_hosts(processes: Processes) -> frozenset[str]:
    """Return the names of the job's hosts. Return an empty set unless all of them are known."""
    hosts = frozenset(short_host(host) for host in processes.hosts if not is_address(host))
    is_complete = (processes.communicators.nodes is not None and len(hosts) >= processes.communicators.nodes) or (
        processes.expected is not None and processes.ranks_with_host() >= processes.expected
    )
    return hosts if is_complete else frozenset()


def _shape(name: str) -> str:
    """Return what is equal for the hosts of one cluster: their names differ in digits only."""
    return str(_DIGITS.sub("0", name))


def _apart(time: float, first: float, last: float) -> float:
    """Return the seconds from the job to ``time``: 0 during the job, negative before it."""
    if (time < A_YEAR) != (first < A_YEAR):
        if time < A_YEAR:
            time = nearest_year(time, first)
        else:
            first, last = nearest_year(first, time), nearest_year(last, time)
    return min(time - first, 0.0) or max(time - last, 0.0)

"""The scope of a job: its number in the batch system, its pods, its time and its hosts."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Sequence

from msgspec import Struct

from logdoctor.model import Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.identity.addresses import is_address, short_host
from logdoctor.reasoning.lifecycle.attempts import is_of_cluster
from logdoctor.reasoning.lifecycle.clocks import A_YEAR, moment, nearest_year
from logdoctor.reasoning.processes import Processes

HOUR, DAY = 3600.0, 86400.0
NEAR = HOUR
"""Seconds from the first or to the last time of the job in which a record is evidence."""
NEAR_UNKNOWN = DAY
"""The same where the job goes on without times: its lines above the first or below the last time have none."""
LARGEST_ZONE, ZONE_STEP, ZONE_JITTER = 14 * HOUR, HOUR / 2, 60.0
"""Clocks of a host and of a container on it may differ by a time zone."""
_DIGITS = later(r"\d+")
_MEMBERS = frozenset("worker master launcher leader chief head ps evaluator server".split())
"""Parts of a pod's name that tell which member of its job it is."""
_GENERATED = range(5, 11)
"""Characters of a part that Kubernetes makes up, such as ``x7k2p``."""
Why = tuple[str, str]
"""Reason against a record: its key in the words, and the host or number in the text."""


def job_of(record: Record) -> str:
    """Return the number of the batch job that the record names, "" for none: ``4711`` for ``4711.batch``."""
    is_of_batch = any(sign.reporter == "batch" for sign in record.signs)
    step = str(record.fields.get("step") or "") if is_of_batch else ""
    return step.partition(".")[0].partition("+")[0]


class Jobs(Struct, frozen=True):
    """The number of the batch job that this one is, as far as it is known."""

    own: frozenset[str]
    others: int
    """Number of jobs among which this one is, if nothing says which, else 0."""

    @classmethod
    def of(cls, own: Collection[str], held: Sequence[Record], *, alone: bool) -> Jobs:
        """``alone``: there is nothing but the accounting, so the first job in it that failed is meant."""
        told = dict.fromkeys(job for record in held if (job := job_of(record)))
        if own or len(told) < 2:
            return cls(frozenset(own), 0)
        if not alone:
            return cls(frozenset(), len(told))
        failed = (job for record in held if record.failing and (job := job_of(record)))
        return cls(frozenset({next(failed, next(iter(told)))}), 0)

    def reason_against(self, record: Record) -> Why | None:
        """Return why the record tells of another job, if it does. A task of an array has two numbers."""
        job = job_of(record)
        if not job:
            return None
        if self.others:
            return "set-aside.jobs", str(self.others)
        own = {name for name in self.own if ("_" in name) == ("_" in job)}
        return ("set-aside.job", job) if own and job not in own else None


class Pods(Struct, frozen=True):
    """The groups of pods of the job, as far as its own lines name one of the pods that the cluster lists."""

    own: frozenset[str]

    @classmethod
    def of(cls, hosts: Container[str], held: Iterable[Record]) -> Pods:
        told = {pod for record in held if (pod := record.fields.get("pod")) and pod in hosts}
        return cls(frozenset(map(_group_of, map(str, told))))

    def reason_against(self, record: Record) -> Why | None:
        pod = str(record.fields.get("pod") or "")
        return ("set-aside.pod", pod) if self.own and pod and _group_of(pod) not in self.own else None


def _group_of(pod: str) -> str:
    """Return the name that the pods of a job share: ``fit`` for ``fit-worker-3``, ``lab/fit-0`` and ``fit-0-x7k2p``."""
    *parts, last = pod.rpartition("/")[2].split("-")
    while parts and (last in _MEMBERS or last.isdigit() or (len(last) in _GENERATED and not last.isalpha())):
        last = parts.pop()
    return "-".join((*parts, last))


def times_in_cluster(records: Sequence[Record]) -> tuple[tuple[float, float], ...]:
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


class Window(Struct, frozen=True):
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

    def reason_against(self, record: Record, zone: float) -> Why | None:
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


def all_hosts(processes: Processes) -> frozenset[str]:
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

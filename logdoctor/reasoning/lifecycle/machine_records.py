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

import re
from collections.abc import Iterable, Iterator
from functools import cache

from msgspec.structs import replace

from logdoctor.model import NotJudged, Record
from logdoctor.model.catalogue import Catalogue
from logdoctor.model.coverage import MAX_NOT_JUDGED
from logdoctor.reasoning.identity.addresses import is_address, short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import MAX_FILES, is_of_cluster, is_of_machine
from logdoctor.reasoning.lifecycle.scope import (
    NEAR,
    NEAR_UNKNOWN,
    Jobs,
    Pods,
    Why,
    Window,
    all_hosts,
    job_of,
    times_in_cluster,
)

MAX_HELD = 16384
"""Records that wait. If there are more, they are judged by what is known so far."""
_DAEMONS = (
    *("kernel", "systemd", "sshd", "cron", "CRON", "dbus", "NetworkManager", "rsyslog", "chronyd", "ntpd", "polkit"),
    *("snapd", "audit", "sudo", "su", "dhclient", "irqbalance", "postfix", "slurmd", "slurmctld", "kubelet", "docker"),
    *("containerd", "nvidia-", "nv-", "dcgm", "mcelog", "rasdaemon", "smartd", "multipathd", "ipmi", "abrt", "sssd"),
)
"""First letters of the programs of syslog and the journal that serve the machine and not a job."""


_WRITERS = {"kernel": "kernel", "slurm": "accounting"}


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
        self._set_aside: dict[tuple[str, str, Why], NotJudged] = {}

    def hold(self, record: Record) -> bool:
        """Keep a record of a machine or of the accounting, and return True. Return False for a record of the job."""
        if record.tells("object"):
            self._node.pop(record.line.file, None)
        if is_of_machine(record) or (record.source.logger or "").startswith(_DAEMONS) or _is_of_accounting(record):
            self._held.append(self._on_its_node(record) if is_of_cluster(record) else record)
            return True
        if (job := job_of(record)) and len(self._jobs) < MAX_FILES:
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
        jobs = Jobs.of(self._jobs | ({state.job_id} if state.job_id else set()), held, alone=not self._has_time)
        pods = Pods.of(state.processes.hosts, held)
        window = Window(
            tuple(state.lives.times.values()) or times_in_cluster(held),
            self._first_failure,
            NEAR_UNKNOWN if self._begins_untimed else NEAR,
            NEAR if all(self._has_time.values()) else NEAR_UNKNOWN,
            all_hosts(state.processes),
        )
        zones = {record.line.file: window.zone_of(record) for record in held if record.failing}
        for record in held:
            zone = zones.get(record.line.file, 0.0)
            why = jobs.reason_against(record) or pods.reason_against(record) or window.reason_against(record, zone)
            if why:
                self._note(record, why)
            else:
                yield record

    def _note(self, record: Record, why: Why) -> None:
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

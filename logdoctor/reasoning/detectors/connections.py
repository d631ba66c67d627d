"""Hosts and ranks to which other processes lost the connection.

Derived records ``ledger.pointed_at`` (each on a log line that shows it). The cases are:

- Several processes lost the same host, and no process there complains of others. The fields are host, rank (if only
  one process can be meant), peer (the address as printed), pointing (the ranks that complain) and votes.
- One process complains alone, and it says that a silent host closed the connection.
- All broken connections have both ends on one host. The fields are host, rank (as above), peer and votes.
- All complaining hosts point at an address or host without any line in these logs. The field host is mostly absent.
  The logs of the remote end are missing, so the complaining processes are not to blame.

A dead process does not complain. A host whose own processes complain may have lost its network or have followed a
failure. It is named only if a single rank there is silent and had printed lines before. A host without any line is
named only if several hosts complain of it alone in one file. Otherwise nothing says whether that host complained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_of_other
from logdoctor.reasoning.identity.addresses import bare_address, is_address, peer_of
from logdoctor.reasoning.job_state import JobState

PEER_STATUSES = (9, 10, 11, 12, 13)
"""Work completion statuses about the remote end: access refused, no answer, not ready to receive."""
MIN_VOTES = 2
SEARCHED = 2000
MAX_LINKS = 8192
_CLOSED = later(r"closed by|reset by peer|refused")
_CLOSED_BY_PEER = later(r"closed by (?:remote )?peer")
"""Orderly close. The process at the remote end ended, so the link is not at fault."""

Process = tuple[int | None, str | None, int | None]
"""Rank, host and pid, as far as they were printed."""


class Detector(Struct):
    """Collected complaints about lost connections."""

    READS: ClassVar = ("starts again", "tells peer")

    links: dict[tuple[Process, str, str], Record] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        if record.has("starts again"):
            self.links = {link: e for link, e in self.links.items() if e.line.file != record.line.file}
        elif record.failing and len(self.links) < MAX_LINKS:
            source = record.source
            process = (source.rank, source.host, source.pid)
            peer = _peer(record)
            if peer:
                self.links.setdefault((process, bare_address(peer), record.line.file), record.without_lines())

    def derive(self, state: JobState) -> Iterator[Record]:
        """Return the host that others point at, if there is exactly one."""
        votes, complaining_hosts = self._votes(state)
        if not votes:
            yield from self._both_ends_on_one_host(state)
        targets = [host for host, complaints in votes.items() if len(complaints) >= MIN_VOTES]
        accused_hosts = [
            host for host in targets if host in state.places.hosts and _is_convincing([*votes[host].values()], state)
        ]
        accused_hosts = accused_hosts or [
            host
            for host, complaints in votes.items()
            if host in state.places.hosts and len(votes) == 1 and _all_closed_by_peer(complaints)
        ]
        silent_hosts = [host for host in accused_hosts if host not in complaining_hosts]
        silent_hosts = silent_hosts or [host for host in accused_hosts if self._silent_rank(host, state) is not None]
        if len(silent_hosts) == 1:
            yield self._pointed_at(silent_hosts[0], votes[silent_hosts[0]], state)
        elif len(state.places.hosts) > 1 or (state.places.expected or 0) > len(state.places.ranks):
            yield from _unknown_targets(
                [host for host in targets if host not in state.places.hosts], votes, complaining_hosts, state
            )

    def _votes(self, state: JobState) -> tuple[dict[str, dict[Value, Record]], set[str | None]]:
        """Return complaints by accused host, and the hosts that complain.

        The complaints of a host are keyed by rank, or by host and pid, with the first line of each.
        """
        votes: dict[str, dict[Value, Record]] = {}
        complaining_hosts: set[str | None] = set()
        peers = {id(record): peer for (_, peer, _), record in self.links.items()}
        for record in state.runs.select_last_run(self.links.values()):
            peer = peers[id(record)]
            target = state.places.host_at(peer)
            source = state.places.host_of(record)
            if target == source:
                continue
            complaining_hosts.add(source)
            votes.setdefault(target or peer, {}).setdefault(_process_name(record, state), record)
        return votes, complaining_hosts

    def _both_ends_on_one_host(self, state: JobState) -> Iterator[Record]:
        """Name the host that holds both ends of all broken connections."""
        records = state.runs.select_last_run(self.links.values())
        hosts = {state.places.host_of(record) for record in records}
        if len(hosts) == 1 and (host := hosts.pop()) is not None:
            yield self._pointed_at(host, {_process_name(e, state): e for e in records}, state)

    def _pointed_at(self, host: str, complaints: Mapping[Value, Record], state: JobState) -> Record:
        first = min(complaints.values(), key=lambda e: e.order)
        return derive_of_other(
            "pointed_at",
            first,
            host=host,
            rank=self._silent_rank(host, state),
            peer=_peer(first) or host,
            pointing=tuple(sorted(rank for rank in complaints if isinstance(rank, int))),
            votes=len(complaints),
        )

    def _silent_rank(self, host: str, state: JobState) -> int | None:
        """Return the only rank of ``host`` without failures.

        The result is None unless the hosts of all ranks are known.
        """
        ranks = state.places.ranks_on(host)
        if not ranks or state.places.expected is None or state.places.ranks_with_host() < state.places.expected:
            return None
        quiet = ranks - {state.places.rank_named(process) for process in state.lives.with_alarm()}
        return quiet.pop() if len(quiet) == 1 else None


def _unknown_targets(
    targets: list[str], votes: Mapping[str, Mapping[Value, Record]], complaining_hosts: set[str | None], state: JobState
) -> Iterator[Record]:
    """Return records for targets without lines at which all complaining hosts point."""
    for target in targets:
        complaints = votes[target]
        if complaining_hosts <= {state.places.host_of(e) for e in complaints.values()}:
            first = min(complaints.values(), key=lambda e: e.order)
            was_silent = len(votes) == 1 and _in_one_file(complaints, state) and not is_address(target)
            host, peer = target if was_silent else None, _peer(first) or target
            yield derive_of_other("pointed_at", first, host=host, peer=peer, votes=len(complaints))


def _in_one_file(complaints: Mapping[Value, Record], state: JobState) -> bool:
    """Return whether several hosts complain in one file.

    Such a file holds the output of the whole job, so a host without lines was silent.
    """
    hosts: dict[str, set[str]] = {}
    for record in complaints.values():
        if host := state.places.host_of(record):
            hosts.setdefault(record.line.file, set()).add(host)
    return any(len(group) >= MIN_VOTES for group in hosts.values())


def _all_closed_by_peer(complaints: Mapping[Value, Record]) -> bool:
    return all(_CLOSED_BY_PEER.search(e.text[:SEARCHED]) for e in complaints.values())


def _is_convincing(complaints: list[Record], state: JobState) -> bool:
    """Return whether two hosts complain, or all complaints say closed or refused.

    A broken link looks the same from one end, whichever end is at fault.
    """
    hosts = {h for e in complaints if (h := state.places.host_of(e))}
    if len(hosts) >= MIN_VOTES:
        return True
    return all(_CLOSED.search(e.text[:SEARCHED]) for e in complaints)


def _process_name(record: Record, state: JobState) -> Value:
    """Return the rank of the process, else its host and pid."""
    rank = state.places.rank_of(record)
    return rank if rank is not None else f"{state.places.host_of(record)}:{record.pid}"


def _peer(record: Record) -> str | None:
    """Return the remote end of a lost connection.

    The result is None for a failure without a peer, such as a work completion with a local status.
    """
    status = record.fields.get("status")
    if isinstance(status, int) and status not in PEER_STATUSES:
        return None
    return peer_of(record)

"""The ledger of connections: who lost, or could not open, a connection to whom.

Derived events (each stands on a line of the log that shows it):

- ``ledger.pointed_at``     several processes lost the same host, and nobody there complains of others: host, rank
  (where only one process can be meant), peer (the address as printed), pointing (the ranks that say so), votes
- ``ledger.pointed_at``     one process alone complains, and what it says is that a silent host closed the connection
- ``ledger.pointed_at``     every connection that is told of has both ends on one host: host, rank (as above), peer
- ``ledger.pointed_at`` without host: they point at an address or host of which these logs hold no line, so that the
  other side's story is missing; those who complain are not to blame for that

A process that died does not complain.  A host whose own processes complain of others may just have lost its network,
or may have been taken along: it is named only if one of its ranks alone, which had spoken before, keeps silent.  A
host of which these logs hold no line is named only if several hosts complain in one file of it alone; else whether it
complained is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.identity.addresses import bare_address, is_address, peer_of, short_host
from logdoctor.reasoning.job_state import JobState

OF_THE_PEER = (9, 10, 11, 12, 13)
"""Work completions that tell of the other side: it refused the access, did not answer, was not ready to receive."""
FEWEST = 2
SEARCHED = 2000
MAX_LINKS = 8192
MAX_SPEAKERS = 65536
_CLOSED = later(r"closed by|reset by peer|refused")
_LEFT = later(r"closed by (?:remote )?peer")
"""An orderly close: the process at the other end ended, whatever becomes of a link."""

Process = tuple[int | None, str | None, int | None]
"""Rank, host and pid, as far as they were printed."""


class Detector(Struct):
    """Folds who complains of whom; `derive` tells at whom most point."""

    links: dict[tuple[Process, str, str], Record] = field(default_factory=dict)
    spoke: set[Process] = field(default_factory=set)

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if "restart" in record.signs:
            self.links = {link: e for link, e in self.links.items() if e.line.file != record.line.file}
            self.spoke.clear()
        if not record.failing:
            return
        source = record.source
        who = (source.rank, source.host, source.pid)
        if len(self.spoke) < MAX_SPEAKERS:
            self.spoke.add(who)
        if "lost peer" in record.signs and len(self.links) < MAX_LINKS:
            peer = _peer(record)
            if peer:
                self.links.setdefault((who, bare_address(peer), record.line.file), record.without_lines())

    def derive(self, state: JobState) -> Iterator[Record]:
        """The host or rank that others point at, if there is exactly one."""
        votes, complaining = self._votes(state)
        if not votes:
            yield from self._at_home(state)
        several = [t for t, by in votes.items() if len(by) >= FEWEST]
        accused = [t for t in several if t in state.places.hosts and _weighty([*votes[t].values()], state)]
        accused = accused or [t for t, by in votes.items() if t in state.places.hosts and len(votes) == 1 and _left(by)]
        dead = [t for t in accused if t not in complaining]
        dead = dead or [t for t in accused if self._silent(t, state) is not None]
        if len(dead) == 1:
            yield self._pointed_at(dead[0], votes[dead[0]], state)
        elif len(state.places.hosts) > 1 or (state.places.expected or 0) > len(state.places.ranks):
            yield from _unclear([t for t in several if t not in state.places.hosts], votes, complaining, state)

    def _votes(self, state: JobState) -> tuple[dict[str, dict[Value, Record]], set[str | None]]:
        """Which host is accused by whom (a rank, or host and pid) with which first line; and which hosts accuse."""
        votes: dict[str, dict[Value, Record]] = {}
        complaining: set[str | None] = set()
        peers = {id(record): peer for (_, peer, _), record in self.links.items()}
        for record in state.runs.select_last_run(self.links.values()):
            peer = peers[id(record)]
            target = state.addresses.host_at(peer)
            source = state.places.host_of(record)
            if target == source:
                continue
            complaining.add(source)
            votes.setdefault(target or peer, {}).setdefault(_who(record, state), record)
        return votes, complaining

    def _at_home(self, state: JobState) -> Iterator[Record]:
        """The one host that holds both ends of all that is told of: whoever left, left there."""
        told = state.runs.select_last_run(self.links.values())
        hosts = {state.places.host_of(record) for record in told}
        if len(hosts) == 1 and (host := hosts.pop()) is not None:
            yield self._pointed_at(host, {_who(e, state): e for e in told}, state)

    def _pointed_at(self, host: str, by: Mapping[Value, Record], state: JobState) -> Record:
        first = min(by.values(), key=lambda e: e.order)
        fields: dict[str, Value] = {"host": host, "peer": _peer(first) or host, "votes": len(by)}
        pointing = tuple(sorted(who for who in by if isinstance(who, int)))
        rank = self._silent(host, state)
        if pointing:
            fields["pointing"] = pointing
        if rank is not None:
            fields["rank"] = rank
        return derived("pointed_at", first, fields, spoken=False)

    def _silent(self, host: str, state: JobState) -> int | None:
        """The one rank of ``host`` that has not complained of anything, where all its ranks are known."""
        there = state.places.ranks_on(host)
        if not there or state.places.expected is None or state.places.ranks_placed() < state.places.expected:
            return None
        quiet = there - {rank for who in self.spoke if (rank := _rank(who, state)) is not None}
        return quiet.pop() if len(quiet) == 1 else None


def _unclear(
    targets: list[str], votes: Mapping[str, Mapping[Value, Record]], complaining: set[str | None], state: JobState
) -> Iterator[Record]:
    """All hosts that complain point at somebody of whom nothing is known: it can be none of them."""
    for target in targets:
        by = votes[target]
        if complaining <= {state.places.host_of(e) for e in by.values()}:
            first = min(by.values(), key=lambda e: e.order)
            fields: dict[str, Value] = {"peer": _peer(first) or target, "votes": len(by)}
            if len(votes) == 1 and _told_together(by, state) and not is_address(target):
                fields["host"] = target
            yield derived("pointed_at", first, fields, spoken=False)


def _told_together(by: Mapping[Value, Record], state: JobState) -> bool:
    """Whether several hosts complain in one file: what all of a job print is in it, so that who is silent is silent."""
    hosts: dict[str, set[str]] = {}
    for record in by.values():
        if host := state.places.host_of(record):
            hosts.setdefault(record.line.file, set()).add(host)
    return any(len(named) >= FEWEST for named in hosts.values())


def _left(complaints: Mapping[Value, Record]) -> bool:
    """Whether all say that the other side closed the connection."""
    return all(_LEFT.search(e.text[:SEARCHED]) for e in complaints.values())


def _weighty(complaints: list[Record], state: JobState) -> bool:
    """Whether two hosts complain, or two processes of one host say that the other side closed or refused.

    A broken link seen from one end looks the same whichever end is at fault.
    """
    hosts = {h for e in complaints if (h := state.places.host_of(e))}
    if len(hosts) >= FEWEST:
        return True
    return all(_CLOSED.search(e.text[:SEARCHED]) for e in complaints)


def _who(record: Record, state: JobState) -> Value:
    """The rank of the process that ``event`` is of; else its host and pid."""
    rank = state.places.rank_of(record)
    return rank if rank is not None else f"{state.places.host_of(record)}:{record.pid}"


def _rank(who: Process, state: JobState) -> int | None:
    rank, host, pid = who
    return rank if rank is not None else state.places.rank_at(short_host(host or ""), pid)


def _peer(record: Record) -> str | None:
    """The other side that ``event`` complains of; None where the failure says nothing of it."""
    status = record.fields.get("status")
    if isinstance(status, int) and status not in OF_THE_PEER:
        return None
    return peer_of(record)

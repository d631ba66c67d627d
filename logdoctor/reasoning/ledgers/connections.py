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

from logdoctor.model import Event, Value
from logdoctor.reasoning.addresses import bare_address, is_address, peer_of, short_host
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.picture import Picture
from logdoctor.regexes import later

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


class Ledger(Struct):
    """Folds who complains of whom; `derive` tells at whom most point."""

    links: dict[tuple[Process, str, str], Event] = field(default_factory=dict)
    spoke: set[Process] = field(default_factory=set)

    def observe(self, event: Event) -> None:
        """Take one event in."""
        if "restart" in event.means:
            self.links = {link: e for link, e in self.links.items() if e.line.file != event.line.file}
            self.spoke.clear()
        if not event.failing:
            return
        speaker = event.speaker
        who = (speaker.rank, speaker.host, speaker.pid)
        if len(self.spoke) < MAX_SPEAKERS:
            self.spoke.add(who)
        if "lost peer" in event.means and len(self.links) < MAX_LINKS:
            peer = _peer(event)
            if peer:
                self.links.setdefault((who, bare_address(peer), event.line.file), event.without_lines())

    def derive(self, picture: Picture) -> Iterator[Event]:
        """The host or rank that others point at, if there is exactly one."""
        votes, complaining = self._votes(picture)
        if not votes:
            yield from self._at_home(picture)
        several = [t for t, by in votes.items() if len(by) >= FEWEST]
        accused = [t for t in several if t in picture.places.hosts and _weighty([*votes[t].values()], picture)]
        accused = accused or [
            t for t, by in votes.items() if t in picture.places.hosts and len(votes) == 1 and _left(by)
        ]
        dead = [t for t in accused if t not in complaining]
        dead = dead or [t for t in accused if self._silent(t, picture) is not None]
        if len(dead) == 1:
            yield self._pointed_at(dead[0], votes[dead[0]], picture)
        elif len(picture.places.hosts) > 1 or (picture.places.expected or 0) > len(picture.places.ranks):
            yield from _unclear([t for t in several if t not in picture.places.hosts], votes, complaining, picture)

    def _votes(self, picture: Picture) -> tuple[dict[str, dict[Value, Event]], set[str | None]]:
        """Which host is accused by whom (a rank, or host and pid) with which first line; and which hosts accuse."""
        votes: dict[str, dict[Value, Event]] = {}
        complaining: set[str | None] = set()
        peers = {id(event): peer for (_, peer, _), event in self.links.items()}
        for event in picture.runs.of_the_last(self.links.values()):
            peer = peers[id(event)]
            target = picture.addresses.host_at(peer)
            source = picture.places.host_of(event)
            if target == source:
                continue
            complaining.add(source)
            votes.setdefault(target or peer, {}).setdefault(_who(event, picture), event)
        return votes, complaining

    def _at_home(self, picture: Picture) -> Iterator[Event]:
        """The one host that holds both ends of all that is told of: whoever left, left there."""
        told = picture.runs.of_the_last(self.links.values())
        hosts = {picture.places.host_of(event) for event in told}
        if len(hosts) == 1 and (host := hosts.pop()) is not None:
            yield self._pointed_at(host, {_who(e, picture): e for e in told}, picture)

    def _pointed_at(self, host: str, by: Mapping[Value, Event], picture: Picture) -> Event:
        first = min(by.values(), key=lambda e: e.order)
        fields: dict[str, Value] = {"host": host, "peer": _peer(first) or host, "votes": len(by)}
        pointing = tuple(sorted(who for who in by if isinstance(who, int)))
        rank = self._silent(host, picture)
        if pointing:
            fields["pointing"] = pointing
        if rank is not None:
            fields["rank"] = rank
        return derived("pointed_at", first, fields, spoken=False)

    def _silent(self, host: str, picture: Picture) -> int | None:
        """The one rank of ``host`` that has not complained of anything, where all its ranks are known."""
        there = picture.places.ranks_on(host)
        if not there or picture.places.expected is None or picture.places.ranks_placed() < picture.places.expected:
            return None
        quiet = there - {rank for who in self.spoke if (rank := _rank(who, picture)) is not None}
        return quiet.pop() if len(quiet) == 1 else None


def _unclear(
    targets: list[str], votes: Mapping[str, Mapping[Value, Event]], complaining: set[str | None], picture: Picture
) -> Iterator[Event]:
    """All hosts that complain point at somebody of whom nothing is known: it can be none of them."""
    for target in targets:
        by = votes[target]
        if complaining <= {picture.places.host_of(e) for e in by.values()}:
            first = min(by.values(), key=lambda e: e.order)
            fields: dict[str, Value] = {"peer": _peer(first) or target, "votes": len(by)}
            if len(votes) == 1 and _told_together(by, picture) and not is_address(target):
                fields["host"] = target
            yield derived("pointed_at", first, fields, spoken=False)


def _told_together(by: Mapping[Value, Event], picture: Picture) -> bool:
    """Whether several hosts complain in one file: what all of a job print is in it, so that who is silent is silent."""
    hosts: dict[str, set[str]] = {}
    for event in by.values():
        if host := picture.places.host_of(event):
            hosts.setdefault(event.line.file, set()).add(host)
    return any(len(named) >= FEWEST for named in hosts.values())


def _left(complaints: Mapping[Value, Event]) -> bool:
    """Whether all say that the other side closed the connection."""
    return all(_LEFT.search(e.text[:SEARCHED]) for e in complaints.values())


def _weighty(complaints: list[Event], picture: Picture) -> bool:
    """Whether two hosts complain, or two processes of one host say that the other side closed or refused.

    A broken link seen from one end looks the same whichever end is at fault.
    """
    hosts = {h for e in complaints if (h := picture.places.host_of(e))}
    if len(hosts) >= FEWEST:
        return True
    return all(_CLOSED.search(e.text[:SEARCHED]) for e in complaints)


def _who(event: Event, picture: Picture) -> Value:
    """The rank of the process that ``event`` is of; else its host and pid."""
    rank = picture.places.rank_of(event)
    return rank if rank is not None else f"{picture.places.host_of(event)}:{event.pid}"


def _rank(who: Process, picture: Picture) -> int | None:
    rank, host, pid = who
    return rank if rank is not None else picture.places.rank_at(short_host(host or ""), pid)


def _peer(event: Event) -> str | None:
    """The other side that ``event`` complains of; None where the failure says nothing of it."""
    status = event.fields.get("status")
    if isinstance(status, int) and status not in OF_THE_PEER:
        return None
    return peer_of(event)

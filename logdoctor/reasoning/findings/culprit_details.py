"""The culprit as an answer shows it, and the values that its lines measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from logdoctor.model import Culprit, Finding
from logdoctor.model.log import Scalar
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.identity.places import Seat
from logdoctor.reasoning.job_state import JobState

MEASURED = tuple("exit_code signal exception pid xid limit rss wanted free reason status errno towards".split())
"""Values of a finding that are facts of the failure."""


def culprit_of(finding: Finding, explained: Sequence[Finding], state: JobState) -> Culprit:
    """Return the culprit with what is known of the places of its ranks.

    ``explained`` are the findings that follow from ``finding``.
    """
    culprit = finding.culprit
    if finding.rule.place == "host" and culprit.scope == "not-told" and (host := _lost_host(explained, state)):
        return replace(culprit, scope="one", hosts=(host,), why="other-side")
    if culprit.scope in ("nobody", "not-told"):
        return culprit
    seats = state.places.seats()
    of_ranks = [seats.get(rank, Seat()) for rank in culprit.ranks]
    hosts = (*culprit.hosts, *(short_host(s.host) for s in of_ranks if s.host))
    first = culprit.first
    if first and first.rank is not None and (seat := seats.get(first.rank)):
        gpu = str(seat.gpu) if seat.gpu is not None else first.gpu
        first = replace(first, host=first.host or seat.host, pid=first.pid or seat.pid, gpu=gpu)
    return replace(
        culprit,
        first=first,
        hosts=tuple(dict.fromkeys(hosts)),
        local_ranks=_of_all(s.local_rank for s in of_ranks),
        pids=_of_all(s.pid for s in of_ranks),
        gpus=culprit.gpus or _gpus(of_ranks) if finding.rule.place == "device" else culprit.gpus,
    )


def _lost_host(explained: Sequence[Finding], state: JobState) -> str | None:
    """Return the only host to which others lost their connections, if it is one of the job's hosts."""
    peers = {peer for finding in explained for peer in finding.culprit.peers}
    names = {short_host(peer.partition("<")[0].partition(":")[0]) for peer in peers}
    known = {short_host(host) for host in state.places.hosts}
    return next(iter(names)) if len(names) == 1 and names <= known else None


def _of_all(values: Iterable[int | None]) -> tuple[int, ...]:
    """Return the values if each rank has one, because that of one must not stand beside several ranks."""
    known = [*values]
    return () if None in known else tuple(dict.fromkeys(v for v in known if v is not None))


def _gpus(seats: Sequence[Seat]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(seat.bus_id for seat in seats if seat.bus_id))


def measured_values(finding: Finding) -> tuple[tuple[str, Scalar], ...]:
    values = ((name, finding.values.get(name)) for name in MEASURED)
    return tuple((name, value) for name, value in values if isinstance(value, str | int | float) and value != "")

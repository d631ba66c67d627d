"""Culprits of findings, named here and nowhere else.

Somebody is named on one of five grounds, and `Culprit.why` says which:

- ``own-mouth``: the failure took place inside the process that tells it
- ``named``: a line names the process, host or device
- ``first-end``: its life ended before all others
- ``odd-one-out``: a question found that it differs from the others
- ``other-side``: several lines name it as the other end of their connections

Otherwise the scope is ``nobody``, ``all`` or ``not-told``. Those who only report what others did are reporters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from logdoctor.model import Culprit, Finding, FirstMover, Ground, Record, Reporters, Rule, Scope, Value
from logdoctor.reasoning.findings.conditions import MatchLists
from logdoctor.reasoning.findings.speakers import (
    Speakers,
    captured_hosts,
    captured_ranks,
    numbers,
    short_hosts,
    speaks_for_itself,
    texts,
)
from logdoctor.reasoning.findings.symptoms import Match
from logdoctor.reasoning.findings.wording import compress
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.processes import Seat

ORDERED = frozenset({"job.preempted", "job.time-limit", "job.hangup"})
"""Signatures of orders from outside. Nobody of the job is the culprit."""
OF_PROGRAM = ("program fails", "input bad")
"""Failure classes of code or data, which are the same on every host."""
YOURS = ("frames", "your code", "your data", "your settings")
"""Owners to whom no host belongs."""
MOST_NAMED = 4096
Process = tuple[int | None, str | None]
"""Rank and host."""


def find_culprit(rule: Rule, counted: MatchLists, values: Mapping[str, Value], state: JobState) -> Culprit:
    """Return the culprit that ``rule`` blames.

    ``counted`` are the matches by symptom, the decisive symptom first. ``values`` are the values of the finding.
    """
    if is_ordered(rule.signature):
        return Culprit(scope="nobody", why="ordered")
    speakers = Speakers(rule, counted, state)
    ranks, hosts = _named(rule, "ranks", values), _named(rule, "hosts", values)
    by_class = None in (ranks, hosts)
    own_ranks, own_hosts = speakers.to_blame(values) if by_class else ((), ())
    if rule.place == "group" and rule.culprit.get("ranks") == "rank" and len(numbers(values.get("ranks"))) > 1:
        ranks, hosts = (), ()  # several report it, so it is not told which of them began
    if hosts == () and rule.culprit["hosts"] != "nobody" and not numbers(ranks):
        hosts = speakers.only_host()
    culprit = Culprit(
        ranks=(own_ranks if ranks is None else numbers(ranks))[:MOST_NAMED],
        hosts=(own_hosts if hosts is None else short_hosts(hosts))[:MOST_NAMED],
        gpus=texts(values.get(rule.culprit.get("gpus", "bus_id"))),
        peers=texts(values.get(rule.culprit.get("peers", "peer"))),
        first=find_first(rule, counted, state),
        probably=speakers.lent and bool(own_ranks),
    )
    alike = speakers.ended_alike(culprit.ranks) if rule.side == "own" else ()
    if not alike and culprit.ranks and (raised := speakers.raised_alike()):
        everybody = raised >= max(state.places.min_world_size, len(state.places.seats()))
        hosts = culprit.hosts if state.places.only_host and not _is_yours(rule) else ()
        return Culprit(hosts=hosts, scope="all" if everybody else "not-told", why="all-alike" if everybody else "")
    culprit = replace(culprit, ranks=alike or culprit.ranks)
    return _with_scope(
        _without_host_of_program(culprit, rule, speakers, state), rule, speakers, state, alike=bool(alike)
    )


def _without_host_of_program(culprit: Culprit, rule: Rule, speakers: Speakers, state: JobState) -> Culprit:
    """Leave out the only host of several ranks where code or data failed and no rank is told.

    Another host would do the same. Of a single process the other hosts may only not be heard.
    """
    told = culprit.hosts and not culprit.ranks and rule.failure_class in OF_PROGRAM and _is_yours(rule)
    together = len(state.places.ranks) > 1 and state.places.only_host is not None
    return replace(culprit, hosts=()) if told and (together or speakers.are_on_one_host(sure=True)) else culprit


def _is_yours(rule: Rule) -> bool:
    return bool(rule.owners) and rule.owners[0].who in YOURS


def _named(rule: Rule, part: str, values: Mapping[str, Value]) -> Value | None:
    """Return what the field holds that the rule names. Return None if the failure class decides."""
    field = rule.culprit.get(part)
    return None if field is None else values.get(field, ())


def _with_scope(culprit: Culprit, rule: Rule, speakers: Speakers, state: JobState, *, alike: bool) -> Culprit:
    """Return the culprit with its scope, the reason to name it, and those who only report."""
    heard = speakers.ranks
    if culprit.ranks and rule.place == "host" and culprit.hosts and len(culprit.ranks) > 1:
        culprit = replace(culprit, ranks=())  # ranks of one host set it apart, not each other
    count = max(len(culprit.ranks), len(culprit.hosts))
    if rule.side == "own" and (alike or "ranks" not in rule.culprit) and is_everybody(culprit.ranks, state):
        culprit = replace(culprit, scope="all", why="all-alike")
    elif count or culprit.gpus or culprit.peers:
        culprit = replace(culprit, scope="some" if count > 1 else "one", why=_reason(rule, speakers))
    else:
        culprit = replace(culprit, scope="not-told", why="only-reports" if rule.side == "seen" and heard else "")
    reporters = tuple(rank for rank in heard if rank not in culprit.ranks)[:MOST_NAMED]
    return replace(culprit, reporters=Reporters(reporters, len(reporters)))


def is_everybody(ranks: Sequence[int], state: JobState) -> bool:
    """Return whether these are all ranks that the job can have."""
    return len(ranks) > 1 and len(ranks) >= state.places.min_world_size


def _reason(rule: Rule, speakers: Speakers) -> Ground:
    decisive = speakers.records[0]
    if decisive.format == "ledger":
        return "first-end" if decisive.kind.endswith("first_death") else "odd-one-out"
    if rule.culprit.get("hosts", "") in ("peer", "peer_host"):
        return "other-side"
    by_field = {rule.culprit.get(part, "nobody") for part in ("ranks", "hosts")} != {"nobody"}
    return "named" if by_field else "own-mouth"


def is_ordered(signature: str) -> bool:
    """Return whether a job with this failure was ended from outside."""
    return signature in ORDERED


def blame_matches(culprit: Culprit, matches: Sequence[Match], state: JobState) -> Culprit:
    """Replace the culprit's ranks and hosts by those that the matches name.

    What a symptom captured goes before the source of its line.
    """
    if culprit.scope == "nobody":
        return culprit
    ranks, hosts = captured_ranks(matches), captured_hosts(matches)
    if not ranks and not hosts:
        named = [e for e in (m.record for m in matches) if e.host or state.places.rank_of(e) is not None]
        ranks = tuple(dict.fromkeys(r for e in named for r in state.places.ranks_of(e)))
        hosts = tuple(dict.fromkeys(h for e in named if (h := state.places.host_of(e))))
    count = max(len(ranks), len(hosts))
    scope: Scope = "some" if count > 1 else "one" if count or culprit.gpus or culprit.peers else "not-told"
    why: Ground = "named" if count else culprit.why
    reporters = tuple(rank for rank in culprit.reporters.ranks if rank not in ranks)
    culprit = replace(culprit, scope=scope, why=why, probably=False, reporters=Reporters(reporters, len(reporters)))
    return replace(culprit, ranks=ranks[:MOST_NAMED], hosts=hosts[:MOST_NAMED])


def describe(culprit: Culprit) -> str:
    """Return ``rank 5 (node-b)`` or ``node-b``, the same in every language."""
    ranks, hosts = compress(culprit.ranks), ", ".join(culprit.hosts)
    return f"rank {ranks}" + (f" ({hosts})" if hosts else "") if ranks else hosts


# ── who was first ───────────────────────────────────────────────────────────────────────────────────────────────────


def find_first(rule: Rule, counted: MatchLists, state: JobState) -> FirstMover | None:
    """Return the first of several processes that told of the failure themselves.

    The lowest number of a collective decides, if a question compared the numbers. Else position decides if all of them
    write to one file, else the clock. Return None for a single process, and the proof ``not-told`` if nothing decides.
    """
    lowest = next((m.record.fields.get("lowest") for matches in counted.values() for m in matches), None)
    if isinstance(lowest, int):
        return FirstMover(lowest, state.places.host_with(lowest), by="number")
    earliest: dict[Process, Record] = {}
    for record in sorted((m.record for matches in counted.values() for m in matches), key=lambda e: e.order):
        if process := _process(record, state):
            earliest.setdefault(process, record)
    if len(earliest) < 2:
        return None
    if rule.failure_class == "waits in vain":
        return FirstMover()  # who gave up first waited longest
    one_file = len({record.line.file for record in earliest.values()}) == 1
    rows = sorted(earliest.items(), key=lambda row: (0.0 if one_file else row[1].time or 0.0, row[1].order))
    (process, first), (_, second) = rows[:2]
    seconds, doubt = state.seconds_between(first, second)
    if not one_file and (seconds is None or seconds <= doubt):
        return FirstMover()
    lead = round(seconds, 3) if seconds is not None and seconds >= 0 else None
    return FirstMover(*process, pid=first.pid, by="order" if one_file else "clock", lead_s=lead)


def _process(record: Record, state: JobState) -> Process | None:
    """Return the process that prints the record. Return None if somebody else tells of it."""
    rank, host = state.places.rank_of(record), short_host(record.source.host or "") or None
    unknown = not speaks_for_itself(record) or (rank is None and host is None)
    return None if unknown else (rank, host or state.places.host_with(rank))


# ── where they are ──────────────────────────────────────────────────────────────────────────────────────────────────


def culprit_of(finding: Finding, explained: Sequence[Finding], state: JobState) -> Culprit:
    """Return the culprit with what is known of the places of its ranks. ``explained`` follow from ``finding``."""
    culprit, place = finding.culprit, finding.rule.place
    if place == "host" and culprit.scope == "not-told" and (host := _lost_host(explained, state)):
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
    bus_ids = tuple(dict.fromkeys(s.bus_id for s in of_ranks if s.bus_id)) if place == "device" else ()
    return replace(
        culprit,
        first=first,
        hosts=tuple(dict.fromkeys(hosts)),
        local_ranks=_of_all(s.local_rank for s in of_ranks),
        pids=_of_all(s.pid for s in of_ranks),
        gpus=culprit.gpus or bus_ids,
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

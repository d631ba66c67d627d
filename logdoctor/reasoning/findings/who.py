"""Those to blame for a failure: the ground on which somebody is named, and how many they are.

The first of `GROUNDS` that names somebody wins. `widen` alone says whether that is one, some, all or nobody, or is not
told. Those who only report what others did are reporters. The place, where the failure was seen, blames nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import Culprit, Finding, FirstMover, Ground, Location, Record, Reporters, Rule, Scope, Value
from logdoctor.model.numbers import number
from logdoctor.reasoning.findings.conditions import MatchLists
from logdoctor.reasoning.findings.symptoms import Match
from logdoctor.reasoning.findings.wording import compress, mask_numbers
from logdoctor.reasoning.identity.addresses import peer_of, short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.processes import Seat, names_an_end

ORDERED = frozenset({"job.preempted", "job.time-limit", "job.hangup"})
"""Signatures of orders from outside."""
YOURS = ("frames", "your code", "your data", "your settings")
"""Owners to whom no host belongs."""
ON_A_NODE = 8
"""Number of ranks that most likely share one host if the log names only one."""
MOST_NAMED = 4096
CRASHES = (4, 7, 8, 11)
"""Signals that a process brings on itself. An abort may be that of a watchdog, and the launcher sends the others."""
Names = tuple[tuple[int, ...], tuple[str, ...]]
"""Ranks and hosts."""
NOBODY: Names = (), ()
PARTS = ("ranks", "hosts")
PAIR = ("first_rank", "second_rank")
"""Groups of a symptom's text that hold two ranks of which neither is to blame more than the other."""
OF_PEER = ("peer", "peer_host")
OF_NOBODY = ("ordered", "all-alike")
"""Grounds that set nobody apart, so that nobody only reports."""
OF_THE_ONE = ("first-end", "odd-one-out")
"""Reasons to name somebody whom the others tell apart by what they suffer."""
Named = TypeVar("Named", bound=Location)


class Speakers(Struct, frozen=True):
    """Processes that the decisive records are of.

    If no record names a rank, ``records`` also holds the end that a launcher names. ``lent`` tells that this end is
    only that of the one process that failed.
    """

    records: Sequence[Record]
    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    lent: bool = False


class Failure(Struct, frozen=True):
    """A failure as the lines of a rule show it.

    ``counted`` are the matches by symptom, the decisive symptom first. ``blaming`` are those of the symptom that tells
    whom to blame.
    """

    rule: Rule
    counted: MatchLists
    blaming: Sequence[Match]
    values: Mapping[str, Value]
    speakers: Speakers

    @property
    def decisive(self) -> Sequence[Match]:
        return next(iter(self.counted.values()))

    @property
    def proof(self) -> Record:
        return self.decisive[0].record

    @property
    def reporters(self) -> tuple[int, ...]:
        return numbers(self.values.get("ranks"))


class Naming(Struct, frozen=True):
    """Those whom a ground names. ``count`` is the number of processes, if no line tells which they are."""

    why: Ground = ""
    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    count: int = 0

    @property
    def names_somebody(self) -> bool:
        return bool(self.ranks or self.hosts or self.gpus or self.peers)


def find_culprit(failure: Failure, state: JobState) -> Culprit:
    """Return the culprit whom the first ground names."""
    rule, speakers = failure.rule, failure.speakers
    naming = next((naming for ground in GROUNDS if (naming := ground(failure, state))), Naming())
    culprit = widen(naming, rule, speakers.ranks, state)
    by_class = not failure.blaming and not rule.culprit.keys() >= {*PARTS}
    probably = speakers.lent and by_class and bool(speakers.ranks)
    first = None if culprit.scope == "nobody" else find_first(rule, failure.counted, state)
    return replace(culprit, first=first, probably=probably)


def find_place(failure: Failure, state: JobState) -> Location:
    """Return where the failure was seen: the processes that tell it, else the only host of the job.

    Those who see what others did also see the other end of the connection. A pair of ranks that a line names belongs
    to the place of both.
    """
    ranks, hosts = failure.speakers.ranks, failure.speakers.hosts or _lent_host(failure, state)
    told = (number(str(m.captured.get(name))) for m in failure.decisive for name in PAIR)
    pairs = [rank for rank in told if rank is not None]
    seen = _naming("", failure, tuple(dict.fromkeys((*ranks, *pairs))), hosts)
    other_end = texts(failure.values.get("peer")) if failure.rule.side == "seen" else ()
    gpus = seen.gpus or (texts(failure.values.get("bus_id")) if pairs else ())
    return Location(seen.ranks, seen.hosts, gpus, seen.peers or other_end)


# ── grounds ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def ordered(failure: Failure, _: JobState) -> Naming | None:
    """Name nobody for an order from outside."""
    return Naming("ordered") if is_ordered(failure.rule.signature) else None


def is_ordered(signature: str) -> bool:
    """Return whether a job with this failure was ended from outside."""
    return signature in ORDERED


def all_alike(failure: Failure, state: JobState) -> Naming | None:
    """Name all who ended alike, if a launcher names only the one whose end it noticed first.

    They crashed by the same signal, raised the same exception, or as many lines without a rank tell the failure. Only
    their number is known if the launcher names fewer.
    """
    first, (ranks, hosts) = failure.proof, _names(failure, state)
    nameless = [m.record for m in failure.decisive if state.processes.rank_of(m.record) is None]
    ends = state.named_ends.all_in_attempt_of(first)
    for end in ends if failure.rule.side == "own" and len(ranks) == 1 else ():
        alike = numbers(end.fields.get("alike_ranks"))
        if ranks[0] in alike and (len(alike) <= len(nameless) or end.fields.get("signal") in CRASHES):
            return _naming("own-mouth", failure, alike, hosts)
    raised = _raised_by(failure, state)
    if len(raised) > len(ranks) == 1 and ranks[0] in raised:
        return _naming("own-mouth", failure, raised, hosts)
    if not ranks or not first.reports_own_end or first not in nameless:
        return None
    same = [e for e in nameless if _said(e) == _said(first) and state.runs.same_span(first, e)]
    named = ranks_of(ends, state)
    of_host = hosts if state.processes.only_host and not _is_yours(failure.rule) else ()
    return Naming("all-alike", hosts=of_host, count=len(same)) if len(same) > max(1, len(named)) else None


def _raised_by(failure: Failure, state: JobState) -> tuple[int, ...]:
    """Return the ranks that raised the exception of the proof, with the same words but for their numbers."""
    if failure.rule.failure_class != "program fails":
        return ()
    words = mask_numbers(failure.proof.text)
    return ranks_of((m.record for m in failure.decisive if mask_numbers(m.record.text) == words), state)


def _said(record: Record) -> tuple[object, ...]:
    """Return what a process said at its end, with its source: equal for processes that ended alike."""
    return record.line.file, record.kind, record.level, record.source.pid, record.source.local_rank, record.text


def _is_yours(rule: Rule) -> bool:
    return bool(rule.owners) and rule.owners[0].who in YOURS


def named(failure: Failure, state: JobState) -> Naming | None:
    """Name those whom the lines name to which the rule points, else those in the fields of its own lines.

    What a symptom captured goes before the source of its line. Lines that name only a peer show the other side.
    """
    ranks, hosts = captured_ranks(failure.blaming), captured_hosts(failure.blaming)
    if not ranks and not hosts:
        records = [m.record for m in failure.blaming]
        of_somebody = [e for e in records if e.host or state.processes.rank_of(e) is not None]
        ranks, hosts = ranks_of(of_somebody, state), hosts_of(of_somebody, state)
    pointed = _naming("named" if ranks or hosts else "other-side", failure, ranks, hosts)
    if failure.blaming and pointed.names_somebody:
        return pointed
    if silent := _silent(failure, state):
        return silent
    fields = {failure.rule.culprit.get(part, "nobody") for part in PARTS}
    of_line = not is_derived(failure.proof) and fields != {"nobody"} and fields.isdisjoint(OF_PEER)
    return _told("named", failure, state) if of_line else None


def _silent(failure: Failure, state: JobState) -> Naming | None:
    """Name those who did not come, as the lines around the proof tell."""
    fields = [e.fields for e in state.examined.get(failure.proof.order, ())]
    ranks = tuple(rank for of_one in fields for rank in numbers(of_one.get("missing_ranks")))
    hosts = tuple(host for of_one in fields for host in short_hosts(of_one.get("missing_hosts")))
    return Naming("named", ranks[:MOST_NAMED], hosts[:MOST_NAMED]) if ranks or hosts else None


def other_side(failure: Failure, state: JobState) -> Naming | None:
    """Name the host at the other end of the connections."""
    of_peer = not is_derived(failure.proof) and failure.rule.culprit.get("hosts") in OF_PEER
    return _told("other-side", failure, state) if of_peer else None


def first_end(failure: Failure, state: JobState) -> Naming | None:
    """Name the process whose life ended before all others."""
    return _told("first-end", failure, state) if failure.proof.kind.endswith(".first_death") else None


def odd_one_out(failure: Failure, state: JobState) -> Naming | None:
    """Name those who differ from the others, as a comparison of the ranks shows."""
    return _told("odd-one-out", failure, state) if is_derived(failure.proof) else None


def own_mouth(failure: Failure, state: JobState) -> Naming | None:
    """Name those in whom the failure took place, as their own lines or the launcher tell it."""
    return _told("own-mouth", failure, state)


GROUNDS: Sequence[Callable[[Failure, JobState], Naming | None]] = (
    ordered,
    all_alike,
    named,
    other_side,
    first_end,
    odd_one_out,
    own_mouth,
)
"""As in the model, which tells their order."""


def _told(why: Ground, failure: Failure, state: JobState) -> Naming | None:
    naming = _naming(why, failure, *_names(failure, state))
    return naming if naming.names_somebody else None


def _naming(why: Ground, failure: Failure, ranks: tuple[int, ...], hosts: tuple[str, ...]) -> Naming:
    gpus, peers = (
        texts(failure.values.get(failure.rule.culprit.get(part, field)))
        for part, field in (("gpus", "bus_id"), ("peers", "peer"))
    )
    if failure.rule.place == "group" and not ranks and why == "named":
        hosts = ()  # members of a group disagree, not hosts
    return Naming(why, ranks[:MOST_NAMED], hosts[:MOST_NAMED], gpus, peers)


def _names(failure: Failure, state: JobState) -> Names:
    """Return the ranks and hosts in the fields that the rule names, else those that its failure class blames."""
    rule, values = failure.rule, failure.values
    ranks, hosts = (None if (field := rule.culprit.get(part)) is None else values.get(field, ()) for part in PARTS)
    own_ranks, own_hosts = of_class(failure, state) if None in (ranks, hosts) else NOBODY
    if rule.place == "group" and rule.culprit.get("ranks") == "rank" and len(failure.reporters) > 1:
        return NOBODY  # several report it, so it is not told which of them began
    if hosts == () and rule.culprit["hosts"] != "nobody" and not numbers(ranks) and rule.side == "own":
        hosts = _host_of(rule, state)
    return own_ranks if ranks is None else numbers(ranks), own_hosts if hosts is None else short_hosts(hosts)


def of_class(failure: Failure, state: JobState) -> Names:
    """Return whom the failure class of the rule blames.

    - A failure inside a process is that of its speakers, and a told end that of the process that ended.
    - Of a wait only the host is known, and only if the job has no other.
    - Of what is seen of others, the speaker is known only if it stands apart from others. If only its host was heard
      and the rule asks for a peer, a line must name both sides.
    """
    rule, first, speakers = failure.rule, failure.proof, failure.speakers
    names = speakers.ranks, speakers.hosts
    gave_up = rule.role == "fallback" and first.tells("about peers")
    told = first.reports_end_of_other or "bus_id" in first.fields
    if told or (rule.side == "own" and not gave_up):
        return _or_only(failure, state)
    if rule.place == "group":
        return (), speakers.hosts if is_on_one_host(state, sure=True) else ()
    single = len(failure.reporters) <= 1 and len(speakers.hosts) <= 1
    if gave_up or rule.failure_class == "library reports":
        return names if single and _stands_apart(speakers, state) else NOBODY
    records = (m.record for m in failure.decisive if m.captured.get("peer") or peer_of(m.record))
    both_sides, one_host = hosts_of(records, state), is_on_one_host(state, sure="peers" in rule.culprit)
    if single and (both_sides or one_host or "peers" not in rule.culprit or len(state.processes.hosts) != 1):
        return _or_only(failure, state)
    return (), speakers.hosts if one_host or len(both_sides) == len(speakers.hosts) == 2 else ()


def _or_only(failure: Failure, state: JobState) -> Names:
    """Return the speakers, else the only rank of the job, and its only host if the failure is of a host."""
    speakers, processes = failure.speakers, state.processes
    is_told = speakers.ranks or speakers.hosts or _may_be_foreign(failure)
    if is_told or failure.rule.role not in ("cause", "fallback"):
        return speakers.ranks, speakers.hosts
    alone = len(processes.ranks) == 1 and (processes.expected or 1) == 1
    return tuple(processes.ranks) if alone else (), _host_of(failure.rule, state)


def _stands_apart(speakers: Speakers, state: JobState) -> bool:
    """Return whether others were heard and do not report it, or the launcher tells the end of this process."""
    ranks, hosts = speakers.ranks, speakers.hosts
    others = state.processes.ranks.difference(ranks) if ranks else {*state.processes.hosts}.difference(hosts)
    ends = state.named_ends.ends_in_attempt_of(speakers.records[0])
    return bool(others) or ranks_of(ends, state) == ranks != ()


def _host_of(rule: Rule, state: JobState) -> tuple[str, ...]:
    """Return the only host of the job for a failure of a host or device. For any other failure it is only the place."""
    return only_host(state) if rule.place in ("host", "device") else ()


def _lent_host(failure: Failure, state: JobState) -> tuple[str, ...]:
    """Return the only host of the job, for a failure whose lines name none."""
    return () if _may_be_foreign(failure) else only_host(state)


def _may_be_foreign(failure: Failure) -> bool:
    """Return whether the proof is a snapshot of a device, which may be of a machine that the job did not use."""
    return failure.proof.tells("snapshot")


def only_host(state: JobState) -> tuple[str, ...]:
    """Return the host of a job that has one host only."""
    hosts = tuple(state.processes.hosts or state.processes.scheduler_hosts)
    return hosts if len(hosts) == 1 else ()


# ── how many they are ───────────────────────────────────────────────────────────────────────────────────────────────


def widen(naming: Naming, rule: Rule, heard: Sequence[int], state: JobState) -> Culprit:
    """Return the culprit: one, some, all or nobody, or not told. ``heard`` are the ranks that tell of the failure."""
    # ranks of one host set it apart, not each other
    ranks = () if rule.place == "host" and naming.hosts and len(naming.ranks) > 1 else naming.ranks
    naming = replace(naming, ranks=ranks)
    scope: Scope = "some" if max(len(ranks), len(naming.hosts)) > 1 else "one"
    why = naming.why
    if why == "ordered":
        scope = "nobody"
    elif rule.side == "own" and is_everybody(naming, state):
        scope, why = "all", "all-alike"
    elif why == "all-alike":
        scope, why = "not-told", ""
    elif not naming.names_somebody:
        scope, why = "not-told", "only-reports" if rule.side == "seen" and heard else ""
    reporters = () if naming.why in OF_NOBODY else tuple(rank for rank in heard if rank not in ranks)[:MOST_NAMED]
    return Culprit(
        ranks=ranks,
        hosts=naming.hosts,
        gpus=naming.gpus,
        peers=naming.peers,
        scope=scope,
        why=why,
        reporters=Reporters(reporters, len(reporters)),
    )


def is_everybody(naming: Naming, state: JobState) -> bool:
    """Return whether those who are named are all ranks that the job can have, so that none of them stands apart."""
    count = len(naming.ranks) or naming.count
    return count > 1 and count >= max(state.processes.min_world_size, max(naming.ranks, default=-1) + 1)


def is_on_one_host(state: JobState, *, sure: bool) -> bool:
    """Return whether the job runs on one host, so that no other can be the peer.

    It is sure if the number of ranks is told.
    """
    processes = state.processes
    few = (processes.expected or 0) <= max(ON_A_NODE, len(processes.ranks))
    return few and len(processes.hosts) == 1 and (processes.expected is not None or not sure)


def victims_of(finding: Finding, explained: Sequence[Finding]) -> set[int]:
    """Return the ranks that report a consequence themselves and do not show the failure itself."""
    apart = finding.culprit.why in OF_THE_ONE
    same = (f for f in explained if f.rule.signature == finding.rule.signature and not apart)
    alike = (*same, finding) if finding.rule.failure_class != "late" else ()  # a late one is told by those who wait
    return {rank for f in explained for rank in f.speakers}.difference(*(f.speakers for f in alike))


# ── who speaks ──────────────────────────────────────────────────────────────────────────────────────────────────────


def find_speakers(rule: Rule, counted: MatchLists, state: JobState) -> Speakers:
    """Return the processes that the decisive records are of, as a line, a symptom or the launcher names them."""
    decisive = next(iter(counted.values()))
    records, lent = [m.record for m in decisive], False
    nameless = all(state.processes.rank_of(e) is None for e in records)
    captured = captured_ranks(decisive) if nameless else ()
    if nameless and not captured:
        records = [e for record in records for e in _as_examined(record, state)]
        nameless = all(state.processes.rank_of(e) is None for e in records)
    if nameless and not captured and rule.role in ("cause", "fallback"):
        ends, lent = _ends(rule, counted, records, state)
        hosts = hosts_of(records, state)
        records += [e for e in ends if not hosts or state.processes.host_of(e) in (None, *hosts)]
    ranks, hosts = captured or ranks_of(records, state), hosts_of(records, state) or captured_hosts(decisive)
    return Speakers(records, ranks, hosts, lent)


def _as_examined(record: Record, state: JobState) -> Sequence[Record]:
    """Return the record, or what a line beside it tells of the same process."""
    told = [e for e in state.examined.get(record.order, ()) if "told_by" in e.fields]
    return told or (record,)


def _ends(rule: Rule, counted: MatchLists, records: Sequence[Record], state: JobState) -> tuple[Sequence[Record], bool]:
    """Return the records that tell whose end it was, and whether they only tell the one process that failed.

    They come from a symptom that the rule accepts instead (``any``) if those name exactly one rank. Else the launcher
    names the end: it quotes the exception, or a single process failed and a single failure is nobody's.
    """
    others = (m.record for matches in counted.values() for m in matches) if "any" in rule.when else ()
    with_rank = [e for e in others if state.processes.rank_of(e) is not None]
    if len(ranks_of(with_rank, state)) == 1:
        return with_rank[:1], False
    first, ends = records[0], state.named_ends
    named = ends.ends_in_attempt_of(first)
    if len({(e.source.local_rank, e.pid) for e in records}) > len(named):
        return (), False  # several processes show it, and the launcher names fewer of them
    exception = first.fields.get("exception")
    if exception and any(end.fields.get("exception") == exception for end in named):
        return named, False
    failed = {rank for e in ends.all_in_attempt_of(first) if (rank := state.processes.rank_of(e)) is not None}
    # a process raises once and is terminated once, so one kind of record stands once for each
    kinds = Counter(e.kind for e in records if e.reports_own_end)
    single = max(kinds.values(), default=0) < 2 or len({e.pid or e.order for e in records}) == 1
    lent = single and (ends.first_death in named or len(failed) < 2)
    return (named, True) if lent else ((), False)


def ranks_of(records: Iterable[Record], state: JobState) -> tuple[int, ...]:
    return tuple(dict.fromkeys(rank for e in records for rank in state.processes.ranks_of(e)))


def hosts_of(records: Iterable[Record], state: JobState) -> tuple[str, ...]:
    return tuple(dict.fromkeys(host for e in records if (host := state.processes.host_of(e))))


def captured_ranks(matches: Sequence[Match]) -> tuple[int, ...]:
    """Return the ranks that the symptom captured from the lines."""
    ranks = (m.captured.get("rank") for m in matches)
    return tuple(dict.fromkeys(r for r in ranks if isinstance(r, int)))


def captured_hosts(matches: Sequence[Match]) -> tuple[str, ...]:
    """Return the hosts that the symptom or the format read."""
    values = (m.captured.get("host", m.record.fields.get("hosts")) for m in matches)
    return tuple(dict.fromkeys(name for value in values for name in short_hosts(value)))


def short_hosts(value: Value | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(short_host(name) for name in texts(value)))


def numbers(value: Value | None) -> tuple[int, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(v for v in values if isinstance(v, int))


def texts(value: Value | None) -> tuple[str, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(str(v) for v in values if v not in (None, ""))


def speaks_for_itself(record: Record) -> bool:
    """Return whether the process that a record is about printed it: no launcher, and no question."""
    return not is_derived(record) and not is_told_by_other(record)


def is_derived(record: Record) -> bool:
    """Return whether the record is no line of a process, but a comparison of many."""
    return record.format == "ledger"


def is_told_by_other(record: Record) -> bool:
    """Return whether a launcher or a parent tells the end of the process that the record is about."""
    return record.tells("first end") or record.reports_end_of_other or names_an_end(record)


# ── who was first, and where they are ───────────────────────────────────────────────────────────────────────────────


def find_first(rule: Rule, counted: MatchLists, state: JobState) -> FirstMover | None:
    """Return the first of several processes that told of the failure themselves.

    The lowest number of a collective decides, if the numbers were compared. Else position decides if all of them write
    to one file, else the clock. Return None for a single process, and the proof ``not-told`` if nothing decides.
    """
    records = sorted((m.record for matches in counted.values() for m in matches), key=lambda e: e.order)
    lowest = next((rank for e in records if (rank := e.fields.get("lowest")) is not None), None)
    if isinstance(lowest, int):
        return FirstMover(lowest, state.processes.host_with(lowest), by="number")
    earliest: dict[tuple[int | None, str | None], Record] = {}
    for record in filter(speaks_for_itself, records):
        rank, host = state.processes.rank_of(record), short_host(record.source.host or "") or None
        if rank is not None or host is not None:
            earliest.setdefault((rank, host or state.processes.host_with(rank)), record)
    if len(earliest) < 2:
        return None
    if rule.failure_class == "waits in vain":
        return FirstMover()  # the first to give up waited longest
    one_file = len({record.line.file for record in earliest.values()}) == 1
    rows = sorted(earliest.items(), key=lambda row: (0.0 if one_file else row[1].time or 0.0, row[1].order))
    (process, first), (_, second) = rows[:2]
    seconds, doubt = state.seconds_between(first, second)
    if not one_file and (seconds is None or seconds <= doubt):
        return FirstMover()
    lead = round(seconds, 3) if seconds is not None and seconds >= 0 else None
    return FirstMover(*process, pid=first.pid, by="order" if one_file else "clock", lead_s=lead)


def with_seats(named: Named, rule: Rule, state: JobState) -> Named:
    """Return the named ranks with what is known of the process and the host of each."""
    seats = state.processes.seats()
    of_ranks = [seats.get(rank, Seat()) for rank in named.ranks]
    hosts = (*named.hosts, *(short_host(s.host) for s in of_ranks if s.host))
    bus_ids = tuple(dict.fromkeys(s.bus_id for s in of_ranks if s.bus_id)) if rule.place == "device" else ()
    return replace(
        named,
        hosts=tuple(dict.fromkeys(hosts)),
        local_ranks=_if_each(s.local_rank for s in of_ranks),
        pids=_if_each(s.pid for s in of_ranks),
        gpus=named.gpus or bus_ids,
    )


def seated(first: FirstMover | None, state: JobState) -> FirstMover | None:
    """Return the first mover with what is known of its process and its host."""
    seat = state.processes.seats().get(first.rank) if first and first.rank is not None else None
    if first is None or seat is None:
        return first
    gpu = str(seat.gpu) if seat.gpu is not None else first.gpu
    return replace(first, host=first.host or seat.host, pid=first.pid or seat.pid, gpu=gpu)


def _if_each(values: Iterable[int | None]) -> tuple[int, ...]:
    """Return the values if each rank has one, because that of one must not stand beside several ranks."""
    known = [*values]
    return () if None in known else tuple(dict.fromkeys(v for v in known if v is not None))


def describe(culprit: Culprit, lang: str) -> str:
    """Return ``rank 5 (node-b)``, ``ranks 5,7`` or ``node-b``."""
    ranks, hosts = culprit.ranks, ", ".join(culprit.hosts)
    several = len(ranks) > 1 and lang == "en"
    return f"rank{'s' if several else ''} {compress(ranks)}" + (f" ({hosts})" if hosts else "") if ranks else hosts

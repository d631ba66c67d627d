"""From rules and what was shown to findings: which rules hold, on whom, since when."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from logdoctor.model import Culprit, Event, Finding, Rule, Value
from logdoctor.reasoning.addresses import peer_of, short_host
from logdoctor.reasoning.conditions import Conditions, Seen
from logdoctor.reasoning.picture import Picture
from logdoctor.reasoning.symptoms import Hits, Shown

EVENTS_KEPT = 24
CULPRITS_NAMED = 16
ON_A_NODE = 8
"""So many ranks are most likely on one host, where only one is named."""
RuleHits = Mapping[str, Hits]
"""The hits of one rule's symptoms, by the symptom's name."""


def find(
    rules: Sequence[Rule], hits: Mapping[int, RuleHits], conditions: Conditions
) -> tuple[list[Finding], dict[int, Finding]]:
    """Every rule that holds (benign ones apart), and the events that benign rules account for, by `Event.order`.

    Benign rules come first: a line that is known to be harmless is no symptom of anything.  Fallback rules come last
    and stand on what no other rule took alone; what forbids them may be taken.
    """
    benign = _hold(rules, hits, ("benign",), conditions)
    harmless = {s.event.order: f for f, seen in benign for s in _shown(seen)}
    real = _hold(rules, hits, ("cause", "symptom"), conditions, harmless.keys())
    taken = {s.event.order for _, seen in real for s in _shown(seen)}
    rest = _hold(rules, hits, ("fallback",), conditions, harmless.keys(), taken)
    return [f for f, _ in (*real, *rest)], harmless


def _shown(seen: Seen) -> Iterator[Shown]:
    for shown in seen.values():
        yield from shown


def _hold(
    rules: Sequence[Rule],
    hits: Mapping[int, RuleHits],
    roles: Sequence[str],
    conditions: Conditions,
    harmless: Collection[int] = (),
    taken: Collection[int] = (),
) -> list[tuple[Finding, Seen]]:
    found = []
    for number, table in sorted(hits.items()):
        rule = rules[number]
        if rule.role not in roles:
            continue
        there = _without(table, harmless)
        left = _without(there, taken)
        seen = conditions.hold(rule, left, there)
        if seen:
            found.append((_finding(rule, seen, left, conditions.picture), seen))
    return found


def _without(table: RuleHits, orders: Collection[int]) -> RuleHits:
    return {name: h.without(orders) for name, h in table.items()} if orders else table


def _finding(rule: Rule, seen: Seen, hits: RuleHits, picture: Picture) -> Finding:
    ordered = [s for shown in seen.values() for s in shown]
    decisive = _decisive(seen)
    own = [s for s in seen[decisive.name] if s is not decisive.shown]
    others = [shown[0] for name, shown in seen.items() if name != decisive.name]
    blamed = _blamed(rule, hits)
    events = tuple(s.event for s in (decisive.shown, *others, *blamed, *own)[:EVENTS_KEPT])
    ranks = sorted({r for s in ordered if (r := picture.places.rank_of(s.event)) is not None})
    latest = max((s.event for s in ordered), key=lambda e: e.order)
    values = _bindings([decisive.shown, *others, *blamed], ranks, picture)
    values |= {k: v for s in blamed[:1] for k, v in s.event.fields.items() if k == "peer"}
    values |= _behind(seen[decisive.name], picture)
    if rule.culprit.get("peers") == "peer" and not values.get("peer") and (peer := peer_of(decisive.shown.event)):
        values["peer"] = peer
    culprit = _culprit(rule, seen[decisive.name], _same_told(rule, ordered), values, picture)
    if blamed:
        culprit = _about([s.event for s in blamed], culprit, picture)
        values |= {"blamed": word} if (word := _in_a_word(culprit)) else {}
    if len(culprit.ranks) == 1:
        values.setdefault("rank", culprit.ranks[0])
    if len(culprit.hosts) == 1 and rule.culprit.get("hosts") != "peer_host":  # in words, it is who speaks
        values.setdefault("host", culprit.hosts[0])
    return Finding(
        rule=rule,
        events=events,
        bindings=values,
        culprit=culprit,
        ranks=tuple(ranks),
        first=min(s.event.order for s in ordered),
        last=latest.order,
        count=sum(hits[name].count for name in seen),
        latest=latest,
        width=decisive.shown.width,
    )


def _blamed(rule: Rule, hits: RuleHits) -> list[Shown]:
    """The events that say who did it: of the first symptom that `blame` names and that was seen."""
    names = rule.when.get("blame", ())
    return next((hits[n].all() for n in ([names] if isinstance(names, str) else names) if n in hits), [])


def _about(events: Sequence[Event], culprit: Culprit, picture: Picture) -> Culprit:
    """``culprit`` with the ranks and hosts that ``events`` are about in place of its own."""
    named = [e for e in events if e.host or picture.places.rank_of(e) is not None]
    return replace(culprit, ranks=tuple(_ranks(named, picture)), hosts=tuple(_hosts(named, picture)))


def _in_a_word(culprit: Culprit) -> str:
    """The same in every language: ``rank 5 (node-b)``, ``node-b``."""
    ranks, hosts = ", ".join(map(str, culprit.ranks)), ", ".join(culprit.hosts)
    return f"rank {ranks}" + (f" ({hosts})" if hosts else "") if ranks else hosts


class _Decisive:
    """The symptom and the event that prove a finding: the first symptom that `when` names, its first event."""

    def __init__(self, name: str, shown: Shown) -> None:
        self.name, self.shown = name, shown


def _decisive(seen: Seen) -> _Decisive:
    name = next(iter(seen))
    return _Decisive(name, seen[name][0])


def _bindings(shown: Sequence[Shown], ranks: Sequence[int], picture: Picture) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for s in reversed(shown):
        values.update(s.event.fields)
        values.update(s.captured)
        known = {"rank": picture.places.rank_of(s.event), "host": picture.places.host_of(s.event), "pid": s.event.pid}
        values.update({k: v for k, v in known.items() if v is not None})
    values.setdefault("ranks", tuple(ranks))
    progress = picture.last_progress()
    if progress:
        values.setdefault("last_progress", f"{progress.unit} {progress.value}".strip())
    if picture.places.expected:
        values.setdefault("nranks", picture.places.expected)
    for product, version in picture.versions.first.items():
        values.setdefault(f"{product}_version", version)
    return values


def _behind(shown: Sequence[Shown], picture: Picture) -> dict[str, Value]:
    """The host that all of them name as the other side, where its name is known."""
    peers = (s.event.fields.get("peer") for s in shown)
    hosts = {picture.addresses.host_at(peer) for peer in peers if isinstance(peer, str) and peer}
    return {"peer_host": host} if len(hosts) == 1 and (host := hosts.pop()) else {}


def _same_told(rule: Rule, shown: Sequence[Shown]) -> list[Event]:
    """What may tell of the same failure in other words: the symptoms that a rule holds one for another."""
    return [s.event for s in shown] if "any" in rule.when else []


def _culprit(
    rule: Rule, shown: Sequence[Shown], same: Sequence[Event], values: Mapping[str, Value], picture: Picture
) -> Culprit:
    events = [s.event for s in shown]
    named = [e for e in events if picture.places.rank_of(e) is not None]
    said = () if named else _ranks_said(shown)
    ranks = rule.culprit.get("ranks", "speaker")
    hosts = rule.culprit.get("hosts", "speaker")
    if not (named or said) and rule.role in ("cause", "fallback"):  # nobody's line: a launcher may say who died
        hosts_named = _hosts(events, picture)
        ends = picture.named_ends.in_the_attempt_of(events[0])
        told = [e for e in same if picture.places.rank_of(e) is not None]
        one = told[:1] if len(_ranks(told, picture)) == 1 else ends
        events += [e for e in one if not hosts_named or picture.places.host_of(e) in (None, *hosts_named)]
    if "alone" in (ranks, hosts):  # many who report the same are victims
        both_heard = _both_sides(rule, shown, picture)
        by_one = len(_numbers(values.get("ranks"))) <= 1 and len(_hosts(events, picture)) <= 1
        alone = both_heard and by_one and not _waits_for_others(values)
        one_host = len(picture.places.hosts) == 1 and (picture.places.expected or 0) <= max(
            ON_A_NODE, len(picture.places.ranks)
        )
        ranks = "speaker" if ranks == "alone" and alone else ranks
        hosts = "speaker" if hosts == "alone" and (alone or (one_host and both_heard)) else hosts
    guilty = tuple(_ranks(events, picture)) if ranks == "speaker" else _numbers(values.get(ranks))
    where = tuple(_hosts(events, picture)) if hosts == "speaker" else _hosts_named(values.get(hosts))
    if said and ranks == "speaker":  # the line names whom its own prefix does not
        guilty, where = said, where or _hosts_named(values.get("host"))
    if not where and hosts == "speaker":  # nobody's line, but it names a host
        where = _hosts_said(shown)
    if not guilty and ranks == "ranks":  # nobody is listed: whom the launcher names
        guilty = tuple(_ranks(events, picture))
    if not guilty and not where:
        guilty, where = _only_ones(rule, picture)
    return Culprit(
        ranks=guilty,
        hosts=where,
        gpus=_texts(values.get(rule.culprit.get("gpus", "bus_id"))),
        peers=_texts(values.get(rule.culprit.get("peers", "peer"))),
    )


def _both_sides(rule: Rule, shown: Sequence[Shown], picture: Picture) -> bool:
    """Whether who could not reach a peer can be named: both sides are heard, or its line names both."""
    if "peers" not in rule.culprit or len(picture.places.hosts) != 1 or _known_to_be_one_node(picture):
        return True
    return any((s.captured.get("peer") or peer_of(s.event)) and picture.places.host_of(s.event) for s in shown)


def _waits_for_others(values: Mapping[str, Value]) -> bool:
    """Whether the line counts who came: then its speaker is one of those, and the guilty are the others."""
    joined, expected = values.get("joined"), values.get("expected")
    return isinstance(joined, int) and isinstance(expected, int) and 0 < joined < expected


def _known_to_be_one_node(picture: Picture) -> bool:
    """Whether nobody on another host can be meant: else who could not reach a peer is only one side of the story."""
    return picture.places.expected is not None and picture.places.expected <= max(ON_A_NODE, len(picture.places.ranks))


def _only_ones(rule: Rule, picture: Picture) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Where nobody is named: the only rank and the only host that the log knows, unless others are to blame."""
    speaker = rule.culprit.get("ranks", "speaker") == "speaker"
    ranks = (
        tuple(picture.places.ranks)
        if speaker and len(picture.places.ranks) == 1 and (picture.places.expected or 1) == 1
        else ()
    )
    hosts = tuple(picture.places.hosts or picture.places.assigned)
    return ranks, hosts if rule.role in ("cause", "fallback") and len(hosts) == 1 else ()


def _hosts_named(value: Value | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(short_host(name) for name in _texts(value)))


def _ranks(events: Sequence[Event], picture: Picture) -> list[int]:
    return list(dict.fromkeys(r for e in events for r in picture.places.ranks_of(e)))[:CULPRITS_NAMED]


def _ranks_said(shown: Sequence[Shown]) -> tuple[int, ...]:
    """The ranks that the lines themselves name, as the symptom captured them."""
    said = (s.captured.get("rank") for s in shown)
    return tuple(dict.fromkeys(r for r in said if isinstance(r, int)))[:CULPRITS_NAMED]


def _hosts_said(shown: Sequence[Shown]) -> tuple[str, ...]:
    """The hosts that the lines themselves name: as the symptom captured one, or as the parser read a few."""
    said = (s.captured.get("host", s.event.fields.get("hosts")) for s in shown)
    named = dict.fromkeys(name for value in said for name in _hosts_named(value))
    return tuple(named) if len(named) <= CULPRITS_NAMED else ()


def _hosts(events: Sequence[Event], picture: Picture) -> list[str]:
    known = (picture.places.host_of(e) for e in events)
    return list(dict.fromkeys(h for h in known if h))[:CULPRITS_NAMED]


def _numbers(value: Value | None) -> tuple[int, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(v for v in values if isinstance(v, int))


def _texts(value: Value | None) -> tuple[str, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(str(v) for v in values if v not in (None, ""))

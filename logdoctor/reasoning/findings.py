"""From rules and what was shown to findings: which rules hold, on whom, since when."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from logdoctor.model import Culprit, Finding, Rule, Value
from logdoctor.reasoning.addresses import peer_of
from logdoctor.reasoning.conditions import Conditions, Seen
from logdoctor.reasoning.culprits import about, culprit_of, in_a_word
from logdoctor.reasoning.picture import Picture
from logdoctor.reasoning.symptoms import Hits, Shown

EVENTS_KEPT = 24
RuleHits = Mapping[str, Hits]
"""The hits of one rule's symptoms, by the symptom's name."""
Found = Mapping[int, RuleHits]
"""The events that showed each symptom, by the rule's number and the symptom's name."""


def find(rules: Sequence[Rule], hits: Found, conditions: Conditions) -> tuple[list[Finding], dict[int, Finding]]:
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
    hits: Found,
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
    """The first symptom that `when` names is the decisive one, its first event the proof."""
    ordered = [s for shown in seen.values() for s in shown]
    (decisive, *own), *groups = seen.values()
    told = [decisive, *(shown[0] for shown in groups), *(blamed := _blamed(rule, hits))]
    ranks = sorted({r for s in ordered if (r := picture.places.rank_of(s.event)) is not None})
    latest = max((s.event for s in ordered), key=lambda e: e.order)
    values = _bindings(told, ranks, picture)
    _add_other_side(values, rule, [decisive, *own], blamed, picture)
    culprit = culprit_of(rule, seen, values, picture)
    if blamed:
        culprit = about(culprit, [s.event for s in blamed], picture)
        values |= {"blamed": word} if (word := in_a_word(culprit)) else {}
    _add_culprit(values, rule, culprit)
    return Finding(
        rule=rule,
        events=tuple(s.event for s in (*told, *own)[:EVENTS_KEPT]),
        bindings=values,
        culprit=culprit,
        ranks=tuple(ranks),
        first=min(s.event.order for s in ordered),
        last=latest.order,
        count=sum(hits[name].count for name in seen),
        latest=latest,
        width=decisive.width,
    )


def _blamed(rule: Rule, hits: RuleHits) -> list[Shown]:
    """The events that say who did it: of the first symptom that `blame` names and that was seen."""
    names = rule.when.get("blame", ())
    return next((hits[n].all() for n in ([names] if isinstance(names, str) else names) if n in hits), [])


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


def _add_other_side(
    values: dict[str, Value], rule: Rule, shown: Sequence[Shown], blamed: Sequence[Shown], picture: Picture
) -> None:
    """The peer, and the host that all lines name as the other side, where its name is known."""
    if blamed and "peer" in blamed[0].event.fields:
        values["peer"] = blamed[0].event.fields["peer"]
    peers = (s.event.fields.get("peer") for s in shown)
    hosts = {picture.addresses.host_at(peer) for peer in peers if isinstance(peer, str) and peer}
    if len(hosts) == 1 and (host := hosts.pop()):
        values["peer_host"] = host
    if rule.culprit.get("peers") == "peer" and not values.get("peer") and (peer := peer_of(shown[0].event)):
        values["peer"] = peer


def _add_culprit(values: dict[str, Value], rule: Rule, culprit: Culprit) -> None:
    """The rank and host to blame, where only one is and no line told another."""
    if len(culprit.ranks) == 1:
        values.setdefault("rank", culprit.ranks[0])
    if len(culprit.hosts) == 1 and rule.culprit.get("hosts") != "peer_host":  # in words, it is who speaks
        values.setdefault("host", culprit.hosts[0])

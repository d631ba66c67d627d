"""From rules and what was shown to findings: which rules hold, on whom, since when."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from logdoctor.model import Culprit, Finding, Rule, Value
from logdoctor.reasoning.findings.conditions import Conditions, Seen
from logdoctor.reasoning.findings.culprits import about, culprit_of, in_a_word
from logdoctor.reasoning.findings.symptoms import Match, Matches
from logdoctor.reasoning.identity.addresses import peer_of
from logdoctor.reasoning.job_state import JobState

EVENTS_KEPT = 24
RuleHits = Mapping[str, Matches]
"""The hits of one rule's symptoms, by the symptom's name."""
Found = Mapping[int, RuleHits]
"""The events that showed each symptom, by the rule's number and the symptom's name."""


def find(rules: Sequence[Rule], matches: Found, conditions: Conditions) -> tuple[list[Finding], dict[int, Finding]]:
    """Every rule that holds (benign ones apart), and the events that benign rules account for, by `Record.order`.

    Benign rules come first: a line that is known to be harmless is no symptom of anything.  Fallback rules come last
    and stand on what no other rule took alone; what forbids them may be taken.
    """
    benign = _hold(rules, matches, ("benign",), conditions)
    harmless = {s.record.order: f for f, seen in benign for s in _shown(seen)}
    real = _hold(rules, matches, ("cause", "symptom"), conditions, harmless.keys())
    taken = {s.record.order for _, seen in real for s in _shown(seen)}
    rest = _hold(rules, matches, ("fallback",), conditions, harmless.keys(), taken)
    return [f for f, _ in (*real, *rest)], harmless


def _shown(seen: Seen) -> Iterator[Match]:
    for shown in seen.values():
        yield from shown


def _hold(
    rules: Sequence[Rule],
    matches: Found,
    roles: Sequence[str],
    conditions: Conditions,
    harmless: Collection[int] = (),
    taken: Collection[int] = (),
) -> list[tuple[Finding, Seen]]:
    found = []
    for number, table in sorted(matches.items()):
        rule = rules[number]
        if rule.role not in roles:
            continue
        there = _without(table, harmless)
        left = _without(there, taken)
        seen = conditions.hold(rule, left, there)
        if seen:
            found.append((_finding(rule, seen, left, conditions.state), seen))
    return found


def _without(table: RuleHits, orders: Collection[int]) -> RuleHits:
    return {name: h.without(orders) for name, h in table.items()} if orders else table


def _finding(rule: Rule, seen: Seen, matches: RuleHits, state: JobState) -> Finding:
    """The first symptom that `when` names is the decisive one, its first event the proof."""
    ordered = [s for shown in seen.values() for s in shown]
    (decisive, *own), *groups = seen.values()
    told = [decisive, *(shown[0] for shown in groups), *(blamed := _blamed(rule, matches))]
    ranks = sorted({r for s in ordered if (r := state.places.rank_of(s.record)) is not None})
    latest = max((s.record for s in ordered), key=lambda e: e.order)
    values = _bindings(told, ranks, state)
    _add_other_side(values, rule, [decisive, *own], blamed, state)
    culprit = culprit_of(rule, seen, values, state)
    if blamed:
        culprit = about(culprit, [s.record for s in blamed], state)
        values |= {"blamed": word} if (word := in_a_word(culprit)) else {}
    _add_culprit(values, rule, culprit)
    return Finding(
        rule=rule,
        records=tuple(s.record for s in (*told, *own)[:EVENTS_KEPT]),
        values=values,
        culprit=culprit,
        ranks=tuple(ranks),
        first=min(s.record.order for s in ordered),
        last=latest.order,
        count=sum(matches[name].count for name in seen),
        latest=latest,
        width=decisive.width,
    )


def _blamed(rule: Rule, matches: RuleHits) -> list[Match]:
    """The events that say who did it: of the first symptom that `blame` names and that was seen."""
    names = rule.when.get("blame", ())
    return next((matches[n].all() for n in ([names] if isinstance(names, str) else names) if n in matches), [])


def _bindings(shown: Sequence[Match], ranks: Sequence[int], state: JobState) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for s in reversed(shown):
        values.update(s.record.fields)
        values.update(s.captured)
        known = {"rank": state.places.rank_of(s.record), "host": state.places.host_of(s.record), "pid": s.record.pid}
        values.update({k: v for k, v in known.items() if v is not None})
    values.setdefault("ranks", tuple(ranks))
    progress = state.last_progress()
    if progress:
        values.setdefault("last_progress", f"{progress.unit} {progress.value}".strip())
    if state.places.expected:
        values.setdefault("nranks", state.places.expected)
    for product, version in state.versions.first.items():
        values.setdefault(f"{product}_version", version)
    return values


def _add_other_side(
    values: dict[str, Value], rule: Rule, shown: Sequence[Match], blamed: Sequence[Match], state: JobState
) -> None:
    """The peer, and the host that all lines name as the other side, where its name is known."""
    if blamed and "peer" in blamed[0].record.fields:
        values["peer"] = blamed[0].record.fields["peer"]
    peers = (s.record.fields.get("peer") for s in shown)
    hosts = {state.addresses.host_at(peer) for peer in peers if isinstance(peer, str) and peer}
    if len(hosts) == 1 and (host := hosts.pop()):
        values["peer_host"] = host
    if rule.culprit.get("peers") == "peer" and not values.get("peer") and (peer := peer_of(shown[0].record)):
        values["peer"] = peer


def _add_culprit(values: dict[str, Value], rule: Rule, culprit: Culprit) -> None:
    """The rank and host to blame, where only one is and no line told another."""
    if len(culprit.ranks) == 1:
        values.setdefault("rank", culprit.ranks[0])
    if len(culprit.hosts) == 1 and rule.culprit.get("hosts") != "peer_host":  # in words, it is who speaks
        values.setdefault("host", culprit.hosts[0])

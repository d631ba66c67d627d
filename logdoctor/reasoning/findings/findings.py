"""Findings: rules that hold, with records, values and culprits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from logdoctor.model import Finding, Record, Rule, Value
from logdoctor.model.numbers import format_size
from logdoctor.reasoning.findings.conditions import Conditions, MatchLists
from logdoctor.reasoning.findings.culprits import blame_matches, describe, find_culprit
from logdoctor.reasoning.findings.slots import OF_ONE
from logdoctor.reasoning.findings.speakers import numbers, speaks_for_itself
from logdoctor.reasoning.findings.symptoms import Match, Matches
from logdoctor.reasoning.findings.wording import slots_of
from logdoctor.reasoning.identity.addresses import bare_address, is_address, is_own_address, peer_of
from logdoctor.reasoning.job_state import JobState

MAX_RECORDS = 24
OF_CALL = ("op", "seq")
"""Values of a call that the words tell of all ranks."""
MatchesBySymptom = Mapping[str, Matches]
"""Matches of one rule, by the symptom's name."""
MatchesByRule = Mapping[int, MatchesBySymptom]
"""Matches of all rules, by the rule's number and the symptom's name."""


def find(
    rules: Sequence[Rule], matches: MatchesByRule, conditions: Conditions
) -> tuple[list[Finding], dict[int, Finding]]:
    """Return the findings, and the records that benign rules explain.

    Those records are keyed by `Record.order`. Benign rules are matched first, because a harmless line is no symptom.
    Fallback rules are matched last, on records that no other rule matched. Their ``none`` also sees matched records.
    """
    benign = _match_rules(rules, matches, ("benign",), conditions)
    harmless = {m.record.order: f for f, counted in benign for m in _flatten(counted)}
    real = _match_rules(rules, matches, ("cause", "symptom"), conditions, harmless.keys())
    explained = {m.record.order for _, counted in real for m in _flatten(counted)}
    rest = _match_rules(rules, matches, ("fallback",), conditions, harmless.keys(), explained)
    return [f for f, _ in (*real, *rest)], harmless


def _flatten(counted: MatchLists) -> Iterator[Match]:
    for matches in counted.values():
        yield from matches


def _match_rules(
    rules: Sequence[Rule],
    matches: MatchesByRule,
    roles: Sequence[str],
    conditions: Conditions,
    harmless: Collection[int] = (),
    explained: Collection[int] = (),
) -> list[tuple[Finding, MatchLists]]:
    results = []
    for number, table in sorted(matches.items()):
        rule = rules[number]
        if rule.role not in roles:
            continue
        all_matches = _without(table, harmless)
        left = _without(all_matches, explained)
        counted = conditions.match(rule, left, all_matches)
        if counted:
            results.append((_finding(rule, counted, left, conditions.state), counted))
    return results


def _without(table: MatchesBySymptom, orders: Collection[int]) -> MatchesBySymptom:
    return {name: m.without(orders) for name, m in table.items()} if orders else table


def _finding(rule: Rule, counted: MatchLists, matches: MatchesBySymptom, state: JobState) -> Finding:
    """Build the finding. The first match of the first symptom in ``when`` is the proof."""
    ordered = [m for group in counted.values() for m in group]
    (decisive, *own), *groups = counted.values()
    blaming = _blaming_matches(rule, matches)
    details = [*_nearest_details(rule, decisive, matches, state), *_details_before(rule, decisive, matches, state)]
    proofs = [decisive, *(group[0] for group in groups), *blaming]
    told = (decisive, *_told(details, rule), *proofs[1:], *own)[:MAX_RECORDS]
    ranks = sorted({r for m in ordered if (r := state.places.rank_of(m.record)) is not None})
    latest = max((m.record for m in ordered), key=lambda e: e.order)
    values = _values([*proofs, *details], ranks, state)
    _join_members(values, ordered)
    if rule.failure_class == "waits in vain":
        _leave_out_other_calls(values, ordered, state)
    _add_other_side(values, rule, [decisive, *own], blaming, state)
    _add_waits(values, [decisive, *own])
    culprit = find_culprit(rule, counted, values, state)
    if blaming:
        culprit = blame_matches(culprit, blaming, state)
        values |= {"blamed": text} if (text := describe(culprit)) else {}
    if rule.side == "own" and not culprit.ranks and rule.culprit.get("ranks") == "rank":
        values = {name: value for name, value in values.items() if name not in OF_ONE}  # the launcher names one of them
    if rule.side == "seen":
        values = _of_all(values, [decisive, *own], state)
    return Finding(
        rule=rule,
        records=tuple(m.record for m in told),
        spans=tuple(m.span for m in told),
        values=values,
        culprit=culprit,
        ranks=tuple(ranks),
        first=min(m.record.order for m in ordered),
        last=latest.order,
        count=sum(matches[name].count for name in counted),
        latest=latest,
        against=tuple(matches[name].all()[0].record for name in rule.unless if name in matches),
        speakers=_speakers(rule, counted, state),
    )


def _speakers(rule: Rule, counted: MatchLists, state: JobState) -> tuple[int, ...]:
    """Return the ranks whose own lines show the failure. Of symptoms that hold only together the first one shows it."""
    together = "all" in rule.when or "sequence" in rule.when
    groups = [next(iter(counted.values()))] if together else counted.values()
    own = (m.record for group in groups for m in group if speaks_for_itself(m.record))
    return tuple(sorted({rank for record in own for rank in state.places.ranks_of(record)}))


def _blaming_matches(rule: Rule, matches: MatchesBySymptom) -> list[Match]:
    """Return the matches that name the culprit. They belong to the first matched symptom in ``blame``."""
    return next((matches[name].all() for name in _names(rule, "blame") if name in matches), [])


def _nearest_details(rule: Rule, decisive: Match, matches: MatchesBySymptom, state: JobState) -> Iterator[Match]:
    """Yield a match of each symptom in ``also``: the nearest to the decisive match that is of no other host."""
    host, order = state.places.host_of(decisive.record), decisive.record.order
    for name in _names(rule, "also"):
        found = matches[name].all() if name in matches else ()
        of_host = [m for m in found if state.places.host_of(m.record) in (None, host)]
        if of_host:
            yield min(of_host, key=lambda m: abs(m.record.order - order))


def _told(details: Sequence[Match], rule: Rule) -> Iterator[Match]:
    """Yield the details of which the rule's words tell a value. Others only decide which steps fit."""
    slots = slots_of(rule.say("en")) if details else set()
    for m in details:
        if slots.intersection(name.removesuffix("_kb") for name in (*m.captured, *m.record.fields)):
            yield m


def _details_before(rule: Rule, decisive: Match, matches: MatchesBySymptom, state: JobState) -> Iterator[Match]:
    """Yield the last match of each symptom in ``before`` that the process printed before the decisive match.

    None is yielded if steps were made between: the process was then done with what it had announced.
    """
    proof = decisive.record
    for name in _names(rule, "before"):
        found = matches[name].all() if name in matches else ()
        last = next(
            (m for m in reversed(found) if m.record.order < proof.order and _of_one(m.record, proof, state)), None
        )
        if last is not None and not state.stepped_between(last.record, proof):
            yield last


def _of_one(announced: Record, failed: Record, state: JobState) -> bool:
    """Return whether both may be of one process: no rank, pid or host tells them apart, nor a file without these."""
    ranks = state.places.rank_of(announced), state.places.rank_of(failed)
    hosts = state.places.host_of(announced), state.places.host_of(failed)
    pids = announced.pid, failed.pid
    told = [pair for pair in (ranks, pids) if None not in pair]
    apart = any(one != other for one, other in (*told, *([hosts] if None not in hosts else [])))
    return not apart and (bool(told) or announced.line.file == failed.line.file)


def _names(rule: Rule, key: str) -> Sequence[str]:
    names: str | Sequence[str] = rule.when.get(key, ())
    return [names] if isinstance(names, str) else names


def _values(matches: Sequence[Match], ranks: Sequence[int], state: JobState) -> dict[str, Value]:
    """Return the values for the rule's words. An earlier match takes precedence."""
    values: dict[str, Value] = {}
    for m in reversed(matches):
        values.update(m.record.fields)
        values.update(m.captured)
        pid = m.record.fields.get("pid") if m.record.is_about_others else m.record.pid
        source = {"rank": state.places.rank_of(m.record), "host": state.places.host_of(m.record), "pid": pid}
        values.update({k: v for k, v in source.items() if v is not None})
    values.setdefault("ranks", tuple(ranks))
    progress = state.last_progress()
    if progress:
        values.setdefault("last_progress", f"{progress.unit} {progress.value}".strip())
    if state.places.expected:
        values.setdefault("nranks", state.places.expected)
    for name, value in [*values.items()]:
        if name.endswith("_kb") and isinstance(value, int):
            values.setdefault(name.removesuffix("_kb"), format_size(value * 1024))
    for product, version in state.versions.first.items():
        values.setdefault(f"{product}_version", version)
    return values


def _join_members(values: dict[str, Value], matches: Sequence[Match]) -> None:
    """Let ``group_ranks`` be all members on one device of a host, because each line names only two of them."""
    if not isinstance(values.get("group_ranks"), tuple) or "bus_id" not in values:
        return
    device = values["bus_id"], matches[0].record.host
    same = (m.record.fields for m in matches if (m.record.fields.get("bus_id"), m.record.host) == device)
    values["group_ranks"] = tuple(sorted({rank for fields in same for rank in numbers(fields.get("group_ranks"))}))


def _add_waits(values: dict[str, Value], matches: Sequence[Match]) -> None:
    """Let ``group_rank`` and ``peer_rank`` be all who wait and all they wait for, if the lines name both.

    ``last_awaited`` is the only one that is waited for and that no line shows waiting.
    """
    waits = [m.record.fields for m in matches if m.record.has("waits")]
    waiting, awaited = (
        {n for fields in waits if isinstance(n := fields.get(name), int)} for name in ("group_rank", "peer_rank")
    )
    if not waiting or not awaited:
        return
    values |= {"group_rank": tuple(sorted(waiting)), "peer_rank": tuple(sorted(awaited))}
    if len(waiting) > 1 and len(last := awaited - waiting) == 1:
        values["last_awaited"] = last.pop()


def _leave_out_other_calls(values: dict[str, Value], matches: Sequence[Match], state: JobState) -> None:
    """Leave out the call in which the ranks wait, or its number, if they wait in several."""
    for name in OF_CALL:
        calls: dict[int | None, Value] = {}
        for m in matches:
            if call := m.captured.get(name) or m.record.fields.get(name):
                calls.setdefault(state.places.rank_of(m.record), call)
        if len({*map(str, calls.values())}) > 1:
            values.pop(name, None)


def _add_other_side(
    values: dict[str, Value], rule: Rule, matches: Sequence[Match], blaming: Sequence[Match], state: JobState
) -> None:
    """Add ``peer``, ``peer_host``, ``towards``, and ``peer_name``, the host where the lines name only its address.

    All lines must name the same peer host. ``towards`` tells that several processes fail towards one peer, so that
    the fault is rather on its side than on theirs.
    """
    if blaming and "peer" in blaming[0].record.fields:
        values["peer"] = blaming[0].record.fields["peer"]
    peers = [m.record.fields.get("peer") for m in matches]
    if len({*peers}) == 1 and peers[0] and len({m.record.pid for m in matches}) > 1:
        values["towards"] = "one-peer"
    hosts = {state.addresses.host_at(peer) for peer in peers if isinstance(peer, str) and peer}
    if len(hosts) == 1 and (host := hosts.pop()):
        values["peer_host"] = host
        if is_address(bare_address(next(p for p in peers if isinstance(p, str)))):
            values["peer_name"] = host
    asked = rule.culprit.get("peers", "peer" if rule.side == "seen" else "")
    if asked == "peer" and not values.get("peer") and (peer := peer_of(matches[0].record)):
        values["peer"] = peer
    if is_own_address(str(values.get("peer"))):
        del values["peer"]


def _of_all(values: dict[str, Value], matches: Sequence[Match], state: JobState) -> dict[str, Value]:
    """Return the values of all processes that fail towards one address, not those of the first that is heard."""
    named = [(m, m.captured.get("peer") or peer_of(m.record)) for m in matches if speaks_for_itself(m.record)]
    own = [m for m, peer in named if peer]
    peers = {str(peer) for _, peer in named if peer}
    addresses = {bare_address(peer) for peer in peers}
    ranks = tuple(sorted({r for m in own for r in state.places.ranks_of(m.record)}))
    hosts = tuple(sorted({h for m in own if (h := state.places.host_of(m.record))}))
    if len(addresses) != 1 or max(len(ranks), len(hosts)) < 2:
        return values
    told = [{**m.record.fields, **m.captured} for m in own]
    differ = {name for of_one in told for name, value in of_one.items() if value != told[0].get(name)}
    shared = {name: value for name, value in values.items() if name not in {*OF_ONE, *differ}}
    shared |= {"rank": ranks} if ranks else {}
    shared |= {"host": hosts if len(hosts) > 1 else hosts[0]} if hosts else {}
    return {**shared, "peer": peers.pop() if len(peers) == 1 else addresses.pop()}

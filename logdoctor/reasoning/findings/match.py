"""Matching: the rules that hold, as findings with records, values and culprits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from logdoctor.model import Finding, Record, Rule
from logdoctor.reasoning.findings.conditions import Conditions, MatchLists
from logdoctor.reasoning.findings.symptoms import Match, Matches
from logdoctor.reasoning.findings.values import OF_ONE, Shown, collect_values, tell_culprit, without
from logdoctor.reasoning.findings.who import (
    Failure,
    Naming,
    find_culprit,
    find_place,
    find_speakers,
    is_told_by_other,
    speaks_for_itself,
    widen,
)
from logdoctor.reasoning.findings.wording import mask_numbers, slots_of
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState

MAX_RECORDS = 24
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
    blaming = _blaming(rule, ordered, matches)
    details = [*_nearest_details(rule, decisive, matches, state), *_details_before(rule, decisive, matches, state)]
    proofs = [decisive, *(group[0] for group in groups), *blaming]
    told = (decisive, *_told(details, rule), *proofs[1:], *own)[:MAX_RECORDS]
    ranks = tuple(sorted({r for m in ordered if (r := state.processes.rank_of(m.record)) is not None}))
    latest = max((m.record for m in ordered), key=lambda e: e.order)
    states = [m for name in _names(rule, "also") if name in matches for m in matches[name].all() if _is_state(m)]
    shown = Shown(rule, [decisive, *own], ordered, [*proofs, *details], blaming, ranks, states)
    values = collect_values(shown, state)
    failure = Failure(rule, counted, blaming, values, find_speakers(rule, counted, state))
    culprit = find_culprit(failure, state)
    return Finding(
        rule=rule,
        records=tuple(m.record for m in told),
        spans=tuple(m.span for m in told),
        values=tell_culprit(values, culprit, shown, state),
        culprit=culprit,
        place=find_place(failure, state),
        ranks=ranks,
        first=min(m.record.order for m in ordered),
        last=latest.order,
        count=sum(matches[name].count for name in counted),
        latest=latest,
        speakers=_speakers(rule, counted, state),
    )


def _blaming(rule: Rule, shown: Sequence[Match], matches: MatchesBySymptom) -> Sequence[Match]:
    """Return the matches of the first symptom that tells whom to blame.

    A process that only sees what others did does not name itself, although its complaint is also its end.
    """
    blaming = next((matches[name].all() for name in _names(rule, "blame") if name in matches), [])
    told = {m.record.line for m in shown} if rule.side == "seen" else set()
    return [m for m in blaming if m.record.fields.get("reporter") != "itself" or m.record.line not in told]


def _speakers(rule: Rule, counted: MatchLists, state: JobState) -> tuple[int, ...]:
    """Return the ranks whose own lines show the failure. Of symptoms that hold only together the first one shows it."""
    together = "all" in rule.when or "sequence" in rule.when
    groups = [next(iter(counted.values()))] if together else counted.values()
    own = (m.record for group in groups for m in group if speaks_for_itself(m.record))
    return tuple(sorted({rank for record in own for rank in state.processes.ranks_of(record)}))


def _is_state(match: Match) -> bool:
    return "last_enqueued" in match.record.fields


def _nearest_details(rule: Rule, decisive: Match, matches: MatchesBySymptom, state: JobState) -> Iterator[Match]:
    """Yield a match of each symptom in ``also``: the nearest to the decisive match that is of no other host."""
    host, order = state.processes.host_of(decisive.record), decisive.record.order
    for name in _names(rule, "also"):
        found = matches[name].all() if name in matches else ()
        of_host = [m for m in found if state.processes.host_of(m.record) in (None, host)]
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
        if last is not None and not state.steps.any_between(last.record, proof):
            yield last


def _of_one(announced: Record, failed: Record, state: JobState) -> bool:
    """Return whether both may be of one process: no rank, pid or host tells them apart, nor a file without these."""
    same = state.processes.same(announced, failed)
    return same == "yes" or (same == "open" and announced.line.file == failed.line.file)


def _names(rule: Rule, key: str) -> Sequence[str]:
    names: str | Sequence[str] = rule.when.get(key, ())
    return [names] if isinstance(names, str) else names


def tell_of_all(cause: Finding, followers: Iterable[Finding], state: JobState) -> Finding:
    """Return the cause with the ranks that show the same failure, as ``followers`` of its signature tell it.

    A rule may hold on one rank only because that rank was the first to give up, and the others were ended before.
    """
    rule, culprit = cause.rule, cause.culprit
    if rule.place == "host" and culprit.scope == "not-told":
        return _with_lost_host(cause, followers, state)
    if culprit.why != "own-mouth" or not culprit.ranks:
        return cause
    same = [f for f in followers if f.rule.signature == rule.signature]
    ranks = tuple(sorted({rank for f in same for rank in _alike(f, culprit.ranks, state)}.union(culprit.ranks)))
    if len(ranks) == len(culprit.ranks):
        return cause
    hosts = state.processes.hosts_with(ranks) or culprit.hosts
    place = replace(cause.place, ranks=ranks, hosts=hosts)
    if rule.side == "seen":  # what they see of others sets only their host apart
        hosts = hosts if len(hosts) == 1 < len(state.processes.hosts) else ()
    naming = Naming("own-mouth", ranks if rule.side == "own" else (), hosts, culprit.gpus, culprit.peers)
    whole = replace(widen(naming, rule, ranks, state), first=culprit.first)
    values = without(cause.values, OF_ONE) | {"rank": ranks, "ranks": ranks}
    return replace(cause, ranks=ranks, speakers=ranks, values=values, culprit=whole, place=place)


def _with_lost_host(cause: Finding, followers: Iterable[Finding], state: JobState) -> Finding:
    """Name the only host of the job to which others lost their connections, and show a line that says so."""
    pointing = [f for f in followers if f.culprit.peers]
    names = {short_host(peer.partition("<")[0].partition(":")[0]) for f in pointing for peer in f.culprit.peers}
    if len(names) != 1 or not names <= {short_host(host) for host in state.processes.hosts}:
        return cause
    lost = widen(Naming("other-side", (), tuple(names), (), ()), cause.rule, (), state)
    records, spans = (*cause.records, pointing[0].records[0]), (*cause.spans, pointing[0].spans[0])
    return replace(cause, culprit=lost, records=records, spans=spans)


def _alike(finding: Finding, ranks: Iterable[int], state: JobState) -> set[int]:
    """Return the ranks whose lines differ from lines of ``ranks`` by their numbers only."""
    shapes: dict[str, set[int]] = {}
    for record in finding.records:
        if not is_told_by_other(record):
            shapes.setdefault(f"{record.kind} {mask_numbers(record.text)}", set()).update(
                state.processes.ranks_of(record)
            )
    return {rank for told in shapes.values() if told.intersection(ranks) for rank in told}
